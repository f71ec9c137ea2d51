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
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/kubewright"]
CMD ["serve"]
