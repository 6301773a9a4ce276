# syntax=docker/dockerfile:1
# The server in a container: page, API and MCP, over a file or a store in PostgreSQL. Build: docker build -t ricordo .
#   docker run --rm -v ricordo:/data ricordo serve tokens add me
#   docker run -d --name ricordo -p 127.0.0.1:8620:8620 -v ricordo:/data ricordo
# MCP over standard input and output: docker run --rm -i -v ricordo:/data ricordo mcp

ARG EXTRAS=server,documents,postgres

FROM python:3.13-slim AS build
ARG EXTRAS
WORKDIR /source
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY plugin plugin
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[$EXTRAS]"

FROM python:3.13-slim
ARG EXTRAS
# Versions are those of the wheels that the first stage made; nothing else can be installed.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "ricordo[$EXTRAS]" \
    && useradd --uid 10001 --create-home ricordo \
    && install -d -o ricordo -g ricordo -m 700 /data
USER 10001:10001
WORKDIR /data
ENV RICORDO_DATA_HOME=/data/store RICORDO_CONFIG_HOME=/data/config RICORDO_STATE_HOME=/data/state PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8620
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8620/healthz', timeout=4)"]
ENTRYPOINT ["ricordo"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8620"]
