# occbench in a container: built with all that scripts/run needs, run with nothing but the C++ runtime.
#   docker build --tag occbench .
#   docker run --rm --gpus all occbench                                              theory, prediction and time
#   docker run --rm --gpus all --cap-add SYS_ADMIN --user root occbench              and the hardware counters
# --gpus all needs NVIDIA's container toolkit on the host. NVIDIA's driver lets administrators alone read hardware
# counters; in a container that is root with the capability SYS_ADMIN, which --cap-add gives to no other user. Where
# the host's driver is loaded with NVreg_RestrictProfilingToAdminUsers=0, the first form reads them too.
# To keep the rows: --volume "$PWD":/home/occbench (a folder that user 1000 can write), and run --out FILE.csv.

FROM debian:12-slim AS build
# Whatever version the distribution has; scripts/run installs the rest.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /occbench
COPY . .
RUN CUDAARCHS=all-major scripts/run >/dev/null && scripts/bundle --with-cupti release /opt/occbench

FROM debian:12-slim
COPY --from=build /opt/occbench /opt/occbench
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN useradd --uid 1000 --create-home occbench
USER 1000
WORKDIR /home/occbench
ENTRYPOINT ["/opt/occbench/occbench"]
CMD ["run"]
