# The operator's image: docker build -t traincrew:0.1.0 .
FROM python:3.12-slim AS build
WORKDIR /src
COPY requirements/runtime.txt requirements/runtime.txt
RUN python -m venv /opt/traincrew && /opt/traincrew/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/traincrew/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim
COPY --from=build /opt/traincrew /opt/traincrew
USER 65532:65532
ENTRYPOINT ["/opt/traincrew/bin/traincrew"]
CMD ["operator"]
