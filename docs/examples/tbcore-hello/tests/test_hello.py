"""The plugin's route with a real event file, requested as the page does."""

from tbcore_testing import write_run


def test_latest_is_the_last_point_in_the_log(tbcore_logdir, tbcore_client):
    """Each scalar of the run is listed, in the order of the log."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5, 0.25], "lr": [(7, 0.125)]})

    client = tbcore_client(tbcore_logdir, plugins=["hello"])

    assert client.get("data/plugin/hello/latest?run=train").json() == {
        "loss": {"step": 1, "value": 0.25},
        "lr": {"step": 7, "value": 0.125},
    }


def test_the_run_is_required(tbcore_logdir, tbcore_client):
    """The response to a missing parameter is one line."""
    client = tbcore_client(tbcore_logdir, plugins=["hello"])

    response = client.get("data/plugin/hello/latest")

    assert response.status_code == 400
    assert response.text.strip() == 'query parameter "run" is required'
