"""The plugin on a real event file, asked as a page asks it."""

from tbcore.testing import write_run


def test_latest_is_the_point_written_last(tbcore_logdir, tbcore_client):
    """Of each scalar of the run, in the order of the log."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5, 0.25], "lr": [(7, 0.125)]})

    client = tbcore_client(tbcore_logdir, plugins=["hello"])

    assert client.get("data/plugin/hello/latest?run=train").json() == {
        "loss": {"step": 1, "value": 0.25},
        "lr": {"step": 7, "value": 0.125},
    }


def test_a_run_must_be_named(tbcore_logdir, tbcore_client):
    """Missing parameters are answered in one line."""
    client = tbcore_client(tbcore_logdir, plugins=["hello"])

    response = client.get("data/plugin/hello/latest")

    assert response.status_code == 400
    assert response.text.strip() == 'query parameter "run" is required'
