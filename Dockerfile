# The operator's image: docker build -t traincrew:0.1.0 .
# Run `make console` before it: the image contains the page of the console, if it is built.
# `make image` builds one without a registry and without a container engine; docs/operator-image.md compares the two.
#
# Base images are pinned by digest. For a mirror or a proxy, set these arguments:
#   --build-arg PYTHON_IMAGE=… GO_IMAGE=…            base images of a mirror
#   --build-arg PIP_INDEX_URL=… GOPROXY=…            package indexes
#   --build-arg CA_CERTIFICATE="$(cat ca.pem)"       the certificate authority of a proxy or an index
ARG PYTHON_IMAGE=python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
ARG GO_IMAGE=golang:1.24-bookworm@sha256:1a6d4452c65dea36aac2e2d606b01b4a029ec90cc1ae53890540ce6173ea77ac

FROM ${GO_IMAGE} AS kubectl
ARG GOPROXY
ARG GOSUMDB
ARG CA_CERTIFICATE
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
WORKDIR /src
COPY tools/kube/v1.32/go.mod tools/kube/v1.32/go.sum ./
RUN if [ -n "$CA_CERTIFICATE" ]; then \
      cat /etc/ssl/certs/ca-certificates.crt > /authorities.pem; echo "$CA_CERTIFICATE" >> /authorities.pem; export SSL_CERT_FILE=/authorities.pem; \
    fi; \
    version="$(sed -n 's#^require k8s.io/kubernetes ##p' go.mod)"; \
    go build -trimpath -buildvcs=false -mod=readonly -o /kubectl \
      -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/client-go/pkg/version.gitVersion=$version" \
      k8s.io/kubernetes/cmd/kubectl

FROM ${PYTHON_IMAGE} AS build
ARG PIP_INDEX_URL
ARG CA_CERTIFICATE
WORKDIR /src
RUN if [ -n "$CA_CERTIFICATE" ]; then echo "$CA_CERTIFICATE" > /authority.pem; fi; python3 -m venv /opt/traincrew
COPY requirements/runtime.txt requirements/runtime.txt
RUN if [ -s /authority.pem ]; then export PIP_CERT=/authority.pem; fi; \
    /opt/traincrew/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN if [ -s /authority.pem ]; then export PIP_CERT=/authority.pem; fi; \
    /opt/traincrew/bin/pip install --no-cache-dir --no-deps . && \
    /opt/traincrew/bin/python -c "import pathlib; from traincrew.embedded.kubelet.images import tools_directory as tools; tools.install(pathlib.Path('/usr/local/lib/traincrew'))" && \
    /opt/traincrew/bin/pip uninstall --quiet --yes pip && \
    mkdir -p /commands && ln -s ../lib/traincrew/bin/nslookup ../lib/traincrew/bin/traincrew-wait /opt/traincrew/bin/traincrew /commands/

FROM ${PYTHON_IMAGE}
COPY --from=kubectl /kubectl /usr/local/bin/kubectl
COPY --from=build /opt/traincrew /opt/traincrew
COPY --from=build /usr/local/lib/traincrew /usr/local/lib/traincrew
COPY --from=build /commands/ /usr/local/bin/
# The root file system is never written to: run it with readOnlyRootFilesystem.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/traincrew"]
CMD ["operator"]
