//! The one file of a release that is installed: `bin/mission` of an archive, or the
//! program itself.

use std::io::{self, Read, Write};
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use missiond_core::ErrorCode;

use crate::failure::Failure;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// Of what is unpacked: many times a release, and no more than a disk bears.
const UNPACKED_LIMIT: u64 = 1 << 30;

/// Writes the program that is in `bytes`.
pub(super) fn unpack(bytes: &[u8], into: &mut impl Write) -> Result<(), Failure> {
    if !bytes.starts_with(GZIP) {
        return Ok(into.write_all(bytes)?);
    }
    let unpacked = GzDecoder::new(bytes).take(UNPACKED_LIMIT);
    let mut archive = tar::Archive::new(unpacked);
    let damaged = |error: io::Error| {
        let message = format!("the archive cannot be unpacked: {error}");
        Failure::new(ErrorCode::InvalidParams, message)
    };
    let mut found = false;
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let is_program =
            entry.header().entry_type().is_file() && is_program(&entry.path().map_err(damaged)?);
        if !is_program {
            continue;
        }
        if found {
            let message = "the archive has two programs in it";
            return Err(Failure::new(ErrorCode::InvalidParams, message));
        }
        io::copy(&mut entry, into).map_err(damaged)?;
        found = true;
    }
    if found {
        Ok(())
    } else {
        let message = "the archive has no bin/mission in it";
        Err(Failure::new(ErrorCode::InvalidParams, message))
    }
}

/// `bin/mission`, alone or in the one folder of the archive.
fn is_program(path: &Path) -> bool {
    let parts: Option<Vec<_>> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    matches!(
        parts.as_deref(),
        Some(["bin", "mission"] | [_, "bin", "mission"])
    )
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            tar.append_data(&mut header, path, content.as_bytes())
                .unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn only_the_program_is_taken_from_an_archive() {
        let unpacked = |bytes: &[u8]| {
            let mut program = Vec::new();
            unpack(bytes, &mut program).map(|()| String::from_utf8(program).unwrap())
        };
        let release = [
            ("m-1/share/bin/x/mission", "no"),
            ("m-1/bin/mission", "yes"),
        ];
        assert_eq!(unpacked(&archive(&release)).unwrap(), "yes");
        assert_eq!(
            unpacked(&archive(&[("bin/mission", "flat")])).unwrap(),
            "flat"
        );
        assert_eq!(unpacked(b"\x7fELF").unwrap(), "\x7fELF");
        let none = unpacked(&archive(&[("m/mission", "")])).unwrap_err();
        assert!(none.message.contains("no bin/mission"), "{none}");
        let two = [("a/bin/mission", "1"), ("b/bin/mission", "2")];
        assert!(unpacked(&archive(&two)).is_err());
        let whole = archive(&release);
        assert!(unpacked(&whole[..whole.len() / 2]).is_err(), "cut short");
    }
}
