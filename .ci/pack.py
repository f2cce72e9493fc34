"""Packs a program for users, and describes what was packed. Called by `.ci/dist`.

The output only depends on the input and on SOURCE_DATE_EPOCH: names are sorted, owners and modes are fixed.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
MANIFEST = (ROOT / "Cargo.toml").read_text()
VERSION = re.search(r'^version = "(.*)"$', MANIFEST, re.MULTILINE)[1]
REPOSITORY = re.search(r'^repository = "(.*)"$', MANIFEST, re.MULTILINE)[1]
SUMMARY = "Build, lint, merge and apply kustomize overlays"
SHELLS = {"bash": "kubectl-smp", "zsh": "_kubectl-smp", "fish": "kubectl-smp.fish"}
# The program is static, so the wheel is for systems with glibc and with musl.
WHEELS = {
    "linux-amd64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "windows-amd64": "win_amd64",
    "darwin-amd64": "macosx_10_12_x86_64",
    "darwin-arm64": "macosx_11_0_arm64",
}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def output_of(program, *arguments):
    """The output of a command, or None if this machine cannot run the program or it lacks the command."""
    try:
        result = subprocess.run([program, *arguments], capture_output=True, check=False)
    except OSError:
        return None
    return result.stdout if result.returncode == 0 and result.stdout else None


def completions(program):
    scripts = {shell: output_of(program, "completion", shell) for shell in SHELLS}
    return {f"completions/{SHELLS[shell]}": script for shell, script in scripts.items() if script}


def manual(program):
    with tempfile.TemporaryDirectory() as directory:
        output_of(program, "man", "--output-dir", directory)
        return {f"man/{page.name}": page.read_bytes() for page in sorted(Path(directory).glob("*.1"))}


def tar(files, mode_of):
    """A tar archive of pairs of names and contents, with the directories of the names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        directories = sorted({str(parent) for name in files for parent in Path(name).parents if str(parent) != "."})
        for directory in directories:
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, EPOCH
            archive.addfile(entry)
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(files[name]), mode_of(name), EPOCH
            archive.addfile(entry, io.BytesIO(files[name]))
    return gzip.compress(buffer.getvalue(), mtime=0)


def zipped(files, mode_of):
    buffer = io.BytesIO()
    date = time.gmtime(EPOCH)[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100000 | mode_of(name)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def executable(name):
    return 0o755 if Path(name).name in ("kubectl-smp", "kubectl-smp.exe") and "completion" not in name else 0o644


def debian(files, architecture):
    """A Debian package: an `ar` archive of a version, a control archive and a data archive."""
    places = {"bash": "usr/share/bash-completion/completions", "zsh": "usr/share/zsh/vendor-completions",
              "fish": "usr/share/fish/vendor_completions.d"}
    data = {"usr/bin/kubectl-smp": files["kubectl-smp"], "usr/share/doc/kubectl-smp/copyright": files["LICENSE"]}
    for shell, name in SHELLS.items():
        if f"completions/{name}" in files:
            data[f"{places[shell]}/{name}"] = files[f"completions/{name}"]
    for name, page in files.items():
        if name.startswith("man/"):
            data[f"usr/share/man/man1/{Path(name).name}.gz"] = gzip.compress(page, mtime=0)
    size = sum(map(len, data.values())) // 1024 + 1
    control = (
        f"Package: kubectl-smp\nVersion: {VERSION}\nArchitecture: {architecture}\nInstalled-Size: {size}\n"
        f"Maintainer: kubectl-smp authors <kubectl-smp@users.noreply.github.com>\nSection: admin\nPriority: optional\n"
        f"Homepage: {REPOSITORY}\nSuggests: git\nDescription: {SUMMARY}\n"
        " A kubectl plugin. It builds kustomizations byte for byte like kustomize, shows\n"
        " which file and line sets each value, and merges upstream changes into\n"
        " customized packages.\n"
    )
    sums = "".join(f"{hashlib.md5(data[name]).hexdigest()}  {name}\n" for name in sorted(data))
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": tar({"control": control.encode(), "md5sums": sums.encode()}, executable),
        "data.tar.gz": tar(data, executable),
    }
    package = b"!<arch>\n"
    for name, content in members.items():
        package += f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content
        package += b"\n" * (len(content) % 2)
    return package


def wheel(files, program, tag):
    """A wheel whose only script is the program."""
    information = f"kubectl_smp-{VERSION}.dist-info"
    description = (
        f"Metadata-Version: 2.1\nName: kubectl-smp\nVersion: {VERSION}\nSummary: {SUMMARY}\n"
        f"Home-page: {REPOSITORY}\nLicense: Apache-2.0\nRequires-Python: >=3.8\n"
        "Description-Content-Type: text/markdown\n\n" + (ROOT / "README.md").read_text()
    )
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in tag.split("."))
    contents = {
        f"kubectl_smp-{VERSION}.data/scripts/{program}": files[program],
        f"{information}/METADATA": description.encode(),
        f"{information}/WHEEL": f"Wheel-Version: 1.0\nGenerator: kubectl-smp\nRoot-Is-Purelib: false\n{tags}".encode(),
        f"{information}/licenses/LICENSE": files["LICENSE"],
    }
    rows = []
    for name in sorted(contents):
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents[name]).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(contents[name])}\n")
    record = f"{information}/RECORD"
    contents[record] = "".join([*rows, f"{record},,\n"]).encode()
    return zipped(contents, executable)


def pack(system, program, out):
    program, out = Path(program).resolve(), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    name = "kubectl-smp.exe" if system.startswith("windows") else "kubectl-smp"
    files = {name: program.read_bytes(), "LICENSE": (ROOT / "LICENSE").read_bytes()}
    # The scripts and pages are the same for all systems, and come from a program that runs here.
    runs = next((path for path in (program, os.environ.get("SMP_HOST_BIN")) if path and output_of(path, "version")), None)
    if runs:
        files |= completions(runs) | manual(runs)
    written = {}
    if name.endswith(".exe"):
        written[f"kubectl-smp-{system}.zip"] = zipped(files, executable)
    else:
        written[f"kubectl-smp-{system}.tar.gz"] = tar(files, executable)
    if system.startswith("linux"):
        architecture = system.removeprefix("linux-")
        written[f"kubectl-smp_{VERSION}_{architecture}.deb"] = debian(files, architecture)
    written[f"kubectl_smp-{VERSION}-py3-none-{WHEELS[system]}.whl"] = wheel(files, name, WHEELS[system])
    for file, content in written.items():
        (out / file).write_bytes(content)
        print(f"{sha256(content)}  {out / file}  {len(content) / 1e6:.1f} MB")
    print(f"the program has {len(files[name]) / 1e6:.1f} MB, with {len(files) - 2} completions and manual pages")


def components():
    """The crates of the program, with their licenses and the checksums of Cargo.lock."""
    lock = (ROOT / "Cargo.lock").read_text().split("[[package]]")[1:]
    fields = [dict(re.findall(r'^(name|version|checksum) = "(.*)"$', entry, re.MULTILINE)) for entry in lock]
    checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in fields}
    command = ["cargo", "tree", "--locked", "--edges", "normal,build", "--target", "all", "--prefix", "none",
               "--package", "kubectl-smp", "--format", "{p}\t{l}"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for line in sorted({line.removesuffix(" (*)") for line in lines if line}):
        crate, _, license_ = line.partition("\t")
        name, version = crate.split(" ")[:2]
        version = version.removeprefix("v")
        purl = f"pkg:cargo/{name}@{version}"
        component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        if license_:
            component["licenses"] = [{"expression": license_.replace("/", " OR ")}]
        if checksums.get((name, version)):
            component["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
        yield component


def bill_of_materials():
    everything = {component["bom-ref"]: component for component in components()}
    program = everything.pop(f"pkg:cargo/kubectl-smp@{VERSION}")
    program["type"] = "application"
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": date, "component": program},
        "components": list(everything.values()),
    }


def first_line(*command):
    result = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    return result.stdout.splitlines()[0] if result.returncode == 0 and result.stdout else ""


def provenance(sums):
    """An in-toto statement with SLSA's predicate: what was built from which commit, with what."""
    commit = first_line("git", "rev-parse", "HEAD")
    tools = [first_line("rustc", "--version"), first_line("cargo", "--version")]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sums.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{REPOSITORY}/blob/main/.ci/dist",
                "externalParameters": {"profile": "dist", "sourceDateEpoch": EPOCH},
                "internalParameters": {"tools": [tool for tool in tools if tool]},
                "resolvedDependencies": [{"uri": f"git+{REPOSITORY}", "digest": {"gitCommit": commit}}],
            },
            "runDetails": {"builder": {"id": os.environ.get("GITHUB_WORKFLOW_REF", "local")}},
        },
    }


def without_comment(template):
    """A template without the first line, which says what it is."""
    return (ROOT / template).read_text().partition("\n")[2]


def krew_manifest(sums):
    """The manifest of krew with the checksums of the archives. Systems without an archive are left out."""
    template = without_comment("plugin-manifest/smp.yaml")
    head, *platforms = re.split(r"^(?=  - selector:)", template, flags=re.MULTILINE)
    filled = []
    for platform in platforms:
        archive = re.search(r"/(kubectl-smp-[^/\n]*)$", platform, re.MULTILINE)[1]
        if archive in sums:
            filled.append(platform.replace("SHA256", sums[archive]))
    return head.replace("VERSION", VERSION) + "".join(filled).replace("VERSION", VERSION)


def formula(sums):
    """The Homebrew formula. A system without an archive keeps a checksum that no file has."""
    template = without_comment("plugin-manifest/kubectl-smp.rb").replace("VERSION", VERSION)
    return re.sub(r"SHA256\((.*?)\)", lambda match: sums.get(match[1], "0" * 64), template)


def notes():
    """The section of this version in the changelog."""
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    wanted = next((section for section in sections if section.startswith(VERSION)), sections[0])
    return wanted.partition("\n")[2].strip() + "\n"


def manifests(out):
    out = Path(out)
    made = ("SHA256SUMS", "provenance.json", "smp.yaml", "kubectl-smp.rb", "NOTES.md", "install.sh")
    (out / "kubectl-smp.cdx.json").write_text(json.dumps(bill_of_materials(), indent=1) + "\n")
    packed = sorted(path for path in out.iterdir() if path.name not in made)
    sums = {path.name: sha256(path.read_bytes()) for path in packed}
    texts = {
        "SHA256SUMS": "".join(f"{digest}  {name}\n" for name, digest in sums.items()),
        "provenance.json": json.dumps(provenance(sums), indent=1) + "\n",
        "smp.yaml": krew_manifest(sums),
        "kubectl-smp.rb": formula(sums),
        "NOTES.md": notes(),
        "install.sh": (ROOT / "install.sh").read_text(),
    }
    for name, text in texts.items():
        (out / name).write_text(text)
    print(f"{len(sums)} files in {out / 'SHA256SUMS'}")


if __name__ == "__main__":
    if sys.argv[1] == "files":
        pack(*sys.argv[2:])
    else:
        manifests(sys.argv[2])
