# The formula of a tap: `brew install OWNER/tap/kubewright`. The release writes the tag's checksum into it
# (`packaging/homebrew/formula VERSION ARCHIVE`). `make test-packages` checks its syntax; brew itself is not run there.
class Kubewright < Formula
  desc "Run, test and explain rules about Kubernetes objects"
  homepage "https://github.com/OWNER/kubewright"
  url "https://github.com/OWNER/kubewright/archive/refs/tags/v0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"
  head "https://github.com/OWNER/kubewright.git", branch: "main"

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--profile", "dist", *std_cargo_args(path: "crates/kubewright")
    generate_completions_from_executable(bin/"kubewright", "completions", shells: [:bash, :zsh, :fish])
    man_pages = buildpath/"man"
    system bin/"kubewright", "man", man_pages
    man1.install Dir[man_pages/"*.1"]
    bin.install_symlink "kubewright" => "kubectl-kubewright"
  end

  test do
    (testpath/"policy.yaml").write <<~YAML
      apiVersion: kyverno.io/v1
      kind: ClusterPolicy
      metadata: {name: team}
      spec:
        rules:
          - name: has-a-team
            match: {any: [{resources: {kinds: [ConfigMap]}}]}
            validate: {message: set the label team, pattern: {metadata: {labels: {team: "?*"}}}}
    YAML
    (testpath/"object.yaml").write <<~YAML
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: settings}
    YAML
    output = shell_output("#{bin}/kubewright apply policy.yaml -r object.yaml", 1)
    assert_match "set the label team", output
    assert_match version.to_s, shell_output("#{bin}/kubewright --version")
  end
end
