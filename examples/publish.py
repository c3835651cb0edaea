"""publish.py DIRECTORY NAME-VERSION...: a package registry in DIRECTORY, for `pip --index-url file://DIRECTORY`.

Each NAME-VERSION is a folder of modules. It becomes a wheel, which is a zip file with three more files in it.
"""
import pathlib
import sys
import zipfile


def wheel(source, directory):
    name, version = source.name.rsplit("-", 1)
    info = f"{name}-{version}.dist-info"
    files = {str(path.relative_to(source)): path.read_text() for path in sorted(source.rglob("*.py"))}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    target = directory / name / f"{name}-{version}-py3-none-any.whl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def write_index(directory):
    """One page for each package, with a link to each of its versions."""
    for package in directory.iterdir():
        links = [f'<a href="{path.name}">{path.name}</a>\n' for path in sorted(package.glob("*.whl"))]
        (package / "index.html").write_text("<!doctype html>\n" + "".join(links))


registry = pathlib.Path(sys.argv[1])
for folder in sys.argv[2:]:
    wheel(pathlib.Path(folder), registry)
write_index(registry)
