//! The machines that packages are made for, and the names each kind of package has
//! for them.

use std::path::Path;
use std::process::Command;

use crate::run;

/// One kind of machine.
#[derive(Debug)]
pub(super) struct Target {
    /// Rust's name.
    pub(super) triple: &'static str,
    /// The name in our file names, which is the kernel's.
    pub(super) machine: &'static str,
    /// Debian's name, and that of container images.
    pub(super) debian: &'static str,
    /// Node's name.
    pub(super) node: &'static str,
    /// The C compiler that builds for it on another machine.
    pub(super) compiler: &'static str,
}

pub(super) static TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        machine: "x86_64",
        debian: "amd64",
        node: "x64",
        compiler: "x86_64-linux-gnu-gcc",
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        machine: "aarch64",
        debian: "arm64",
        node: "arm64",
        compiler: "aarch64-linux-gnu-gcc",
    },
];

impl Target {
    /// The machine that runs this.
    pub(super) fn of_this_machine() -> Result<&'static Self, String> {
        TARGETS
            .iter()
            .find(|target| target.is_this_machine())
            .ok_or_else(|| "packages are made on Linux on x86-64 or arm64 alone".to_owned())
    }

    pub(super) fn is_this_machine(&self) -> bool {
        cfg!(target_os = "linux") && std::env::consts::ARCH == self.machine
    }

    /// What is needed to build for it and is not here, as a sentence.
    pub(super) fn missing(&self) -> Option<String> {
        if self.is_this_machine() {
            return None;
        }
        let sysroot = run::output(Command::new("rustc").args(["--print", "sysroot"]));
        let library = Path::new(sysroot.as_deref().unwrap_or_default().trim())
            .join("lib/rustlib")
            .join(self.triple);
        if !library.is_dir() {
            return Some(format!(
                "Rust's library for it is not installed: `rustup target add {}`",
                self.triple
            ));
        }
        (!run::exists(self.compiler)).then(|| format!("there is no `{}`", self.compiler))
    }
}

/// Whether a program brings all it needs or wants libraries of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linkage {
    Static,
    Dynamic,
}

impl Linkage {
    /// Reads it from an ELF file of 64 bits: what is dynamic names an interpreter.
    pub(super) fn of(program: &[u8]) -> Result<Self, String> {
        const INTERPRETER: [u8; 4] = 3u32.to_le_bytes();
        let wrong = || "the program is no ELF file of 64 bits, little end first".to_owned();
        if !program.starts_with(b"\x7fELF\x02\x01") {
            return Err(wrong());
        }
        let number = |place: usize, length: usize| {
            let bytes = program.get(place..place + length)?;
            bytes.iter().rev().try_fold(0usize, |sum, byte| {
                sum.checked_mul(256)?.checked_add((*byte).into())
            })
        };
        let (Some(table), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2))
        else {
            return Err(wrong());
        };
        let named = (0..count).any(|index| {
            let start = table + index * size;
            program.get(start..start + 4) == Some(&INTERPRETER)
        });
        Ok(if named { Self::Dynamic } else { Self::Static })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linkage_is_read_from_the_program_itself() {
        let mut program = vec![0; 64];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[32] = 64;
        program[54] = 56;
        program[56] = 1;
        program.extend([1, 0, 0, 0]);
        assert_eq!(Linkage::of(&program), Ok(Linkage::Static));
        program[64] = 3;
        assert_eq!(Linkage::of(&program), Ok(Linkage::Dynamic));
        assert!(Linkage::of(b"#!/bin/sh").is_err());
    }
}
