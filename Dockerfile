ARG BASE=python:3.12-slim

# What is built here stays here: only the environment with our package goes into the image.
FROM ${BASE} AS build
WORKDIR /build
COPY requirements-runtime.lock requirements-build.lock ./
RUN python -m venv --without-pip /opt/noughts \
    && pip --python /opt/noughts/bin/python install --no-cache-dir --require-hashes -r requirements-runtime.lock \
    && pip install --no-cache-dir --require-hashes -r requirements-build.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY proto ./proto
COPY referee ./referee
COPY bots ./bots
COPY server ./server
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
    && pip --python /opt/noughts/bin/python install --no-cache-dir --no-deps --no-index dist/*.whl
# The documentation goes into the installed package, whose website serves it under /docs.
COPY docs ./docs
COPY tools ./tools
RUN packages=$(/opt/noughts/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
    && PYTHONPATH=$packages python -m sphinx -q -W -b html -d trees docs $packages/noughts_server/web/handbook

FROM ${BASE}
RUN pip uninstall --yes pip \
    && useradd --system --uid 10001 --no-create-home noughts \
    && install --directory --owner noughts /data
COPY --from=build /opt/noughts /opt/noughts
ENV PATH=/opt/noughts/bin:$PATH \
    # The database is /data/noughts/noughts.db, for the server and for `noughts token create` beside it.
    XDG_DATA_HOME=/data
USER noughts
VOLUME /data
EXPOSE 7450
# It asks the server at NOUGHTS_SERVER: the one in this container, or the one that its bot plays at.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["noughts", "health"]
ENTRYPOINT ["noughts"]
CMD ["serve"]
