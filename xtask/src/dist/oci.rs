//! A container image as the Open Container Initiative lays one out in files, for every
//! machine there is a program for. `skopeo copy oci-archive:FILE` and `podman load` take it.
//!
//! The file names one image, which is a list with one entry for each machine: tools refuse
//! to choose between several images of a file, and choose a machine by themselves.
//!
//! The image has the program and the few files a program may expect of a system; git, a
//! shell, agents and certificates come from the image that is built on it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::archive::{Tree, gzip};
use super::release::{Program, Release, timestamp};

const PASSWD: &[u8] = b"root:x:0:0:root:/root:/usr/bin/mission\n";
const GROUP: &[u8] = b"root:x:0:\n";
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(super) fn name(release: &Release) -> String {
    format!("mission-{}-oci.tar", release.version)
}

pub(super) fn archive(release: &Release) -> io::Result<Vec<u8>> {
    let mut blobs = Vec::new();
    let mut manifests = Vec::new();
    for program in &release.programs {
        manifests.push(image(release, program, &mut blobs)?);
    }
    let list = index(&manifests)?;
    let mut image = add(&mut blobs, "index.v1+json", list);
    image["annotations"] = json!({
        "org.opencontainers.image.ref.name": format!("mission:{}", release.version),
    });
    let index = index(&[image])?;
    let mut tree = Tree::default();
    tree.file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#);
    tree.file("index.json", &index);
    for (path, blob) in &blobs {
        tree.file(path.as_str(), blob);
    }
    tree.tar("", release.epoch)
}

fn index(manifests: &[Value]) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    }))?)
}

/// Adds a blob; returns what refers to it.
fn add(blobs: &mut Vec<(String, Vec<u8>)>, kind: &str, blob: Vec<u8>) -> Value {
    let digest = digest(&blob);
    let described = json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": digest,
        "size": blob.len(),
    });
    blobs.push((format!("blobs/{}", digest.replace(':', "/")), blob));
    described
}

/// Adds the three blobs of one image; returns what the index says about it.
fn image(
    release: &Release,
    program: &Program,
    blobs: &mut Vec<(String, Vec<u8>)>,
) -> io::Result<Value> {
    let layer = layer(release, program)?;
    let unpacked = digest(&layer);
    let layer = gzip(&layer, release.effort)?;
    let mut add = |kind: &str, blob: Vec<u8>| add(blobs, kind, blob);
    let layer = add("layer.v1.tar+gzip", layer);
    let created = timestamp(release.epoch);
    let labels = json!({
        "org.opencontainers.image.title": "mission",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": release.licence,
    });
    let config = json!({
        "created": created,
        "architecture": program.target.debian,
        "os": "linux",
        "config": {
            "Env": [PATH, "HOME=/root"],
            "Entrypoint": ["/usr/bin/mission"],
            "Cmd": ["--help"],
            "WorkingDir": "/root",
            "Labels": labels,
        },
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
        "history": [{ "created": created, "created_by": "cargo xtask dist" }],
    });
    let config = add("config.v1+json", serde_json::to_vec(&config)?);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
        "annotations": labels,
    });
    let mut manifest = add("manifest.v1+json", serde_json::to_vec(&manifest)?);
    manifest["platform"] = json!({ "architecture": program.target.debian, "os": "linux" });
    Ok(manifest)
}

fn layer(release: &Release, program: &Program) -> io::Result<Vec<u8>> {
    let documents = &release.documents;
    let mut tree = Tree::default();
    tree.program("usr/bin/mission", &program.bytes);
    tree.file("usr/share/man/man1/mission.1", &documents.manual);
    documents.completions(&mut tree, "usr/", "share/zsh/site-functions");
    for (name, licence) in &documents.licences {
        tree.file(format!("usr/share/doc/mission/{name}"), licence);
    }
    tree.file("etc/passwd", PASSWD);
    tree.file("etc/group", GROUP);
    tree.folder("root", 0o700);
    tree.folder("tmp", 0o1777);
    tree.tar("", release.epoch)
}

/// Takes the layer out of an image as a container engine would: from the index to the list
/// of machines to the manifest to the layer, each checked against its digest.
pub(super) fn take_layer(image: &Path, layer: &Path) -> Result<(), String> {
    let file = |path: &Path, error: &io::Error| format!("{}: {error}", path.display());
    let bytes = fs::read(image).map_err(|error| file(image, &error))?;
    let mut entries = BTreeMap::new();
    let mut archive = tar::Archive::new(bytes.as_slice());
    for entry in archive.entries().map_err(|error| file(image, &error))? {
        let mut entry = entry.map_err(|error| file(image, &error))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut content = Vec::new();
        entry
            .read_to_end(&mut content)
            .map_err(|error| file(image, &error))?;
        entries.insert(name, content);
    }
    let blob = |described: &Value| {
        let named = described["digest"].as_str().unwrap_or_default();
        let content = entries
            .get(&format!("blobs/{}", named.replace(':', "/")))
            .ok_or_else(|| format!("the image has no blob {named}"))?;
        if digest(content) != named || described["size"] != content.len() {
            return Err(format!("the blob {named} is not what it is said to be"));
        }
        Ok(content.as_slice())
    };
    let parsed = |json: &[u8]| -> Result<Value, String> {
        serde_json::from_slice(json).map_err(|error| error.to_string())
    };
    let index = entries.get("index.json").ok_or("the image has no index")?;
    let list = parsed(blob(&parsed(index)?["manifests"][0])?)?;
    let manifest = parsed(blob(&list["manifests"][0])?)?;
    parsed(blob(&manifest["config"])?)?;
    let content = blob(&manifest["layers"][0])?;
    fs::write(layer, content).map_err(|error| file(layer, &error))
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", super::hex(&Sha256::digest(bytes)))
}
