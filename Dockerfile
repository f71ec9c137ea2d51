# One static binary and the CA certificates: no shell, no libraries, a numeric user.
#
#   docker build -t registry.example.com/kubewright:0.1.0 .

FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN make static && cp target/static/kubewright /kubewright

FROM scratch
COPY --from=build /kubewright /kubewright
# CA certificates for the services that rules call.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
ARG VERSION=0.1.0
ARG REVISION
LABEL org.opencontainers.image.title="kubewright" \
      org.opencontainers.image.description="Runs, tests and explains rules about Kubernetes objects" \
      org.opencontainers.image.url="https://github.com/OWNER/kubewright" \
      org.opencontainers.image.source="https://github.com/OWNER/kubewright" \
      org.opencontainers.image.documentation="https://github.com/OWNER/kubewright/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      io.artifacthub.package.readme-url="https://raw.githubusercontent.com/OWNER/kubewright/main/charts/kubewright/README.md" \
      io.artifacthub.package.license="Apache-2.0"
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/kubewright"]
CMD ["serve"]
