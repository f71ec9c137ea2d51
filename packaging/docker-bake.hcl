# The image for linux/amd64 and linux/arm64.
#
#   docker buildx bake -f packaging/docker-bake.hcl                        # from source, for this machine
#   docker buildx bake -f packaging/docker-bake.hcl release --push         # from the binaries in target/image/linux_ARCH
#
# `crates/kubewright/tests/packages.rs` checks both files by reading them: there is no container engine on the machines that test.

variable "IMAGE" { default = "registry.example.com/kubewright" }
variable "VERSION" { default = "0.1.0" }
variable "REVISION" { default = "" }

group "default" { targets = ["source"] }

target "common" {
  tags = ["${IMAGE}:${VERSION}"]
  args = {
    VERSION  = VERSION
    REVISION = REVISION
  }
}

target "source" {
  inherits   = ["common"]
  context    = "."
  dockerfile = "Dockerfile"
}

target "release" {
  inherits    = ["common"]
  context     = "target/image"
  dockerfile  = "../../packaging/release.Dockerfile"
  platforms   = ["linux/amd64", "linux/arm64"]
  attest      = ["type=sbom", "type=provenance,mode=max"]
  annotations = [
    "index:org.opencontainers.image.title=kubewright",
    "index:org.opencontainers.image.description=Runs, tests and explains rules about Kubernetes objects",
    "index:org.opencontainers.image.licenses=Apache-2.0",
    "index:org.opencontainers.image.source=https://github.com/OWNER/kubewright",
    "index:org.opencontainers.image.version=${VERSION}",
    "index:org.opencontainers.image.revision=${REVISION}",
  ]
}
