//! The filter of [`crate::refuse_typing`]: it refuses the same three requests by each number
//! that a processor of ours has for `ioctl`, those of older programs included, and nothing
//! else.

use seccompiler::{BpfProgram, apply_filter, sock_filter};

/// Takes the requests from this thread and everything it starts.
pub(crate) fn apply() -> Result<(), String> {
    apply_filter(&filter()).map_err(|error| error.to_string())
}

/// TIOCSTI, TIOCLINUX and TIOCCONS, which have these numbers on all of [`IOCTL`].
const REQUESTS: [u32; 3] = [0x5412, 0x541C, 0x541D];

const X86_64: u32 = 0xC000_003E;
const I386: u32 = 0x4000_0003;
const AARCH64: u32 = 0xC000_00B7;
const ARM: u32 = 0x4000_0028;
/// Stands above the numbers of the second ABI of x86-64, which has `ioctl` of its own.
const X32: u32 = 0x4000_0000;

/// The numbers of `ioctl`, by how the kernel names the processor of a call.
const IOCTL: [(u32, &[u32]); 4] = [
    (X86_64, &[16, X32 | 16, X32 | 514]),
    (I386, &[54]),
    (AARCH64, &[29]),
    (ARM, &[54]),
];

/// Where in a call its number, its processor and the low half of its second argument are;
/// the kernel looks at no more of a request.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const REQUEST: u32 = 24;

const ALLOW: u32 = 0x7FFF_0000;
const REFUSE: u32 = 0x0005_0000 | nix::libc::EPERM.cast_unsigned();

fn load(from: u32) -> sock_filter {
    instruction(0x20, from, 0, 0)
}

/// Goes on so many instructions later if what was loaded is this, and if not.
fn is(value: u32, then: u8, otherwise: u8) -> sock_filter {
    instruction(0x15, value, then, otherwise)
}

fn end(action: u32) -> sock_filter {
    instruction(0x06, action, 0, 0)
}

fn instruction(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn filter() -> BpfProgram {
    let mut program = vec![load(PROCESSOR)];
    for (processor, numbers) in IOCTL {
        let mut call = vec![load(NUMBER)];
        call.extend(one_of(numbers, end(ALLOW)));
        call.push(load(REQUEST));
        call.extend(one_of(&REQUESTS, end(ALLOW)));
        call.push(end(REFUSE));
        let length = u8::try_from(call.len()).unwrap_or(u8::MAX);
        program.push(is(processor, 0, length));
        program.extend(call);
    }
    program.push(end(ALLOW));
    program
}

/// Goes on behind itself if what was loaded is one of these, and ends so if not.
fn one_of(values: &[u32], otherwise: sock_filter) -> BpfProgram {
    let count = u8::try_from(values.len()).unwrap_or(u8::MAX);
    let tried = values.iter().zip(0..count);
    let mut tried: Vec<_> = tried
        .map(|(value, before)| is(*value, count - before, 0))
        .collect();
    tried.push(otherwise);
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel does with the filter.
    fn decided(program: &[sock_filter], processor: u32, number: u32, request: u64) -> u32 {
        let mut call = [0_u8; 64];
        call[0..4].copy_from_slice(&number.to_le_bytes());
        call[4..8].copy_from_slice(&processor.to_le_bytes());
        call[24..32].copy_from_slice(&request.to_le_bytes());
        let (mut next, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[next];
            next += 1;
            match code {
                0x20 => {
                    let at = usize::try_from(k).unwrap();
                    loaded = u32::from_le_bytes(call[at..at + 4].try_into().unwrap());
                }
                0x15 => next += usize::from(if loaded == k { jt } else { jf }),
                0x06 => return k,
                other => panic!("an instruction {other}"),
            }
        }
    }

    #[test]
    fn only_typing_is_refused_by_each_number_of_each_processor() {
        let program = filter();
        let window_size = 0x5413;
        for (processor, numbers) in IOCTL {
            for number in numbers {
                for request in REQUESTS {
                    let high = 0xFFFF_FFFF_0000_0000 | u64::from(request);
                    for request in [u64::from(request), high] {
                        let decided = decided(&program, processor, *number, request);
                        assert_eq!(decided, REFUSE, "{processor:x} {number} {request:x}");
                    }
                }
                let decided = decided(&program, processor, *number, window_size);
                assert_eq!(decided, ALLOW, "{processor:x} {number}");
            }
            for number in [0, 1, 15, 17, 28, 30, 53, 55, 513, 515, u32::MAX] {
                let decided = decided(&program, processor, number, u64::from(REQUESTS[0]));
                assert_eq!(decided, ALLOW, "{processor:x} {number}");
            }
        }
        // A processor that is none of these has other numbers.
        assert_eq!(decided(&program, 1, 16, u64::from(REQUESTS[0])), ALLOW);
    }

    #[test]
    fn the_numbers_are_those_of_this_processor() {
        use nix::libc::{SYS_ioctl, TIOCCONS, TIOCLINUX, TIOCSTI};
        let own = if cfg!(target_arch = "x86_64") {
            X86_64
        } else {
            AARCH64
        };
        let (_, numbers) = IOCTL
            .iter()
            .find(|(processor, _)| *processor == own)
            .unwrap();
        assert_eq!(i64::from(numbers[0]), SYS_ioctl);
        assert_eq!(REQUESTS.map(u64::from), [TIOCSTI, TIOCLINUX, TIOCCONS]);
    }
}
