# A template: `.ci/dist manifests` fills in the version and the checksums. Untried: no Homebrew was available.
class KubectlSmp < Formula
  desc "Build, lint, merge and apply kustomize overlays"
  homepage "https://github.com/kubectl-smp/kubectl-smp"
  version "VERSION"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/kubectl-smp/kubectl-smp/releases/download/vVERSION/kubectl-smp-darwin-arm64.tar.gz"
      sha256 "SHA256(kubectl-smp-darwin-arm64.tar.gz)"
    end
    on_intel do
      url "https://github.com/kubectl-smp/kubectl-smp/releases/download/vVERSION/kubectl-smp-darwin-amd64.tar.gz"
      sha256 "SHA256(kubectl-smp-darwin-amd64.tar.gz)"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/kubectl-smp/kubectl-smp/releases/download/vVERSION/kubectl-smp-linux-arm64.tar.gz"
      sha256 "SHA256(kubectl-smp-linux-arm64.tar.gz)"
    end
    on_intel do
      url "https://github.com/kubectl-smp/kubectl-smp/releases/download/vVERSION/kubectl-smp-linux-amd64.tar.gz"
      sha256 "SHA256(kubectl-smp-linux-amd64.tar.gz)"
    end
  end

  def install
    bin.install "kubectl-smp"
    bash_completion.install "completions/kubectl-smp" if File.exist? "completions/kubectl-smp"
    zsh_completion.install "completions/_kubectl-smp" if File.exist? "completions/_kubectl-smp"
    fish_completion.install "completions/kubectl-smp.fish" if File.exist? "completions/kubectl-smp.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kubectl-smp version")
  end
end
