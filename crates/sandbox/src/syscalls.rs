//! The calls of the kernel that no program inside may make: what would build another
//! view, look into other processes, put words into a terminal, or reach parts of the
//! kernel that know nothing of the wall.
//!
//! It is a list of what is refused, because a list of what is allowed breaks with every
//! new version of a language's runtime. The refusal is an error, not a death: programs ask
//! for many of these and do without.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::wall::Nesting;

/// Refused whatever the plan says.
const REFUSED: &[libc::c_long] = &[
    // The kernel itself.
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Ways around the view of the file system.
    libc::SYS_fanotify_init,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Keyrings are not in any namespace.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Other processes, and parts of the kernel with a long history of holes.
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_userfaultfd,
    libc::SYS_lookup_dcookie,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

/// Refused where no sandboxes may be made inside.
const BUILDING: &[libc::c_long] = &[
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
];

const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Every other kind of socket is a way past the namespaces or into old code.
const SOCKETS: &[libc::c_int] = &[
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// `ioctl`s that type for others, whichever terminal they are made on.
const TERMINAL: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCCONS];

/// The second ABI of this processor, whose numbers would pass by every rule.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: libc::c_long = 0x4000_0000;

/// Calls that have a number of their own there, besides that of the first ABI.
#[cfg(target_arch = "x86_64")]
const OWN_NUMBERS: [(libc::c_long, libc::c_long); 6] = [
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_move_pages, 533),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

/// Takes these calls from this process and everything it starts.
pub(crate) fn refuse(nesting: Nesting) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("no filter of system calls: {error}");
    let apply = |rules: Result<Rules, seccompiler::BackendError>, error| {
        let program = rules.and_then(|rules| filter(rules, error));
        let program = program.map_err(|error| failed(&error))?;
        apply_filter(&program).map_err(|error| failed(&error))
    };
    if nesting == Nesting::Refused {
        // Its flags stand in memory, where no filter can see them. A C library that is told
        // the call does not exist takes the older one.
        let unseen = Rules::from([(libc::SYS_clone3, Vec::new())]);
        apply(Ok(unseen), libc::ENOSYS)?;
    }
    apply(refused_calls(nesting), libc::EPERM)
}

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

fn refused_calls(nesting: Nesting) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for call in REFUSED {
        rules.insert(*call, Vec::new());
    }
    if nesting == Nesting::Refused {
        for call in BUILDING {
            rules.insert(*call, Vec::new());
        }
        let mut clone = Vec::new();
        for flag in NAMESPACES {
            let flag = u64::from(flag.cast_unsigned());
            let condition = SeccompCondition::new(
                0,
                SeccompCmpArgLen::Qword,
                SeccompCmpOp::MaskedEq(flag),
                flag,
            )?;
            clone.push(SeccompRule::new(vec![condition])?);
        }
        rules.insert(libc::SYS_clone, clone);
    }
    let mut ioctls = Vec::new();
    for request in TERMINAL {
        // The kernel looks at the low half alone.
        let condition =
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request)?;
        ioctls.push(SeccompRule::new(vec![condition])?);
    }
    rules.insert(libc::SYS_ioctl, ioctls);
    let other_than = |family: &libc::c_int| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    };
    let families = SOCKETS.iter().map(other_than).collect::<Result<_, _>>()?;
    let raw = |kind: libc::c_int| -> Result<SeccompRule, seccompiler::BackendError> {
        // The two flags a kind may carry stand above its number; a netlink socket is raw.
        let kind = u64::from(kind.cast_unsigned());
        let netlink = u64::from(libc::AF_NETLINK.cast_unsigned());
        SeccompRule::new(vec![
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, netlink)?,
            SeccompCondition::new(
                1,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::MaskedEq(0xf),
                kind,
            )?,
        ])
    };
    let sockets = vec![SeccompRule::new(families)?, raw(libc::SOCK_RAW)?];
    rules.insert(libc::SYS_socket, sockets);
    Ok(rules)
}

fn filter(mut rules: Rules, error: libc::c_int) -> Result<BpfProgram, seccompiler::BackendError> {
    #[cfg(target_arch = "x86_64")]
    {
        let others = rules
            .iter()
            .map(|(call, rule)| (call | OTHER_NUMBERS, rule.clone()));
        let own = OWN_NUMBERS.iter().filter_map(|(call, own)| {
            let rule = rules.get(call)?;
            Some((own | OTHER_NUMBERS, rule.clone()))
        });
        let others: Vec<_> = others.chain(own).collect();
        rules.extend(others);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error.cast_unsigned()),
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}
