//! The mounts of this process, as the kernel tells them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use nix::mount::MsFlags;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    pub(crate) flags: MsFlags,
}

pub(crate) fn mount_table() -> Result<Vec<Mount>, String> {
    let text = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| format!("the table of mounts cannot be read: {error}"))?;
    Ok(parse(&text))
}

fn parse(text: &[u8]) -> Vec<Mount> {
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(4);
            let (at, options) = (fields.next()?, fields.next()?);
            Some(Mount {
                at: PathBuf::from(OsString::from_vec(unescape(at))),
                flags: flags(options),
            })
        })
        .collect()
}

/// Spaces and the like stand as three octal digits behind a backslash.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let value = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(value) = value {
            plain.push(value);
            rest = &after[3..];
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

fn flags(options: &[u8]) -> MsFlags {
    let each = options
        .split(|byte| *byte == b',')
        .map(|option| match option {
            b"ro" => MsFlags::MS_RDONLY,
            b"nosuid" => MsFlags::MS_NOSUID,
            b"nodev" => MsFlags::MS_NODEV,
            b"noexec" => MsFlags::MS_NOEXEC,
            b"noatime" => MsFlags::MS_NOATIME,
            b"nodiratime" => MsFlags::MS_NODIRATIME,
            b"relatime" => MsFlags::MS_RELATIME,
            _ => MsFlags::empty(),
        });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_its_escapes() {
        let text =
            b"36 35 98:0 /a /mnt/with\\040space ro,nosuid,relatime shared:1 - ext4 /dev/x rw\n\
            37 35 0:5 / /proc rw - proc proc rw\n";
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_RELATIME;
        let expected = vec![
            Mount {
                at: "/mnt/with space".into(),
                flags,
            },
            Mount {
                at: "/proc".into(),
                flags: MsFlags::empty(),
            },
        ];
        assert_eq!(parse(text), expected);
    }
}
