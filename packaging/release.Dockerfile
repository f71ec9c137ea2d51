# The image of a release: the binary of the archive for each platform. The Dockerfile of the root builds the same from source.
FROM --platform=$BUILDPLATFORM rust:1.95-bookworm AS certificates

FROM scratch
ARG TARGETOS
ARG TARGETARCH
COPY ${TARGETOS}_${TARGETARCH}/kubewright /kubewright
# CA certificates for the services that rules call.
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
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
