# One static program, the certificates that everybody believes, and nothing else: no shell, no libraries, no user but a number.
#
#   docker build -t registry.example.com/kubewright:0.1.0 .

FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN make static && cp target/static/kubewright /kubewright

FROM scratch
COPY --from=build /kubewright /kubewright
# Whom to believe when a rule calls a service.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/kubewright"]
CMD ["serve"]
