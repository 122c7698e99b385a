//! `mission upgrade` and `mission uninstall`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// The archive of a release or a program, as a file or as an address (https://); the
    /// one for this machine in `upgrade.url` when left out.
    #[arg(value_name = "FILE|URL")]
    pub(crate) source: Option<String>,
    /// The checksums of the release; SHA256SUMS beside the archive when left out.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) sums: Option<String>,
    /// The minisign key the release must be signed with, instead of `upgrade.key` or the
    /// one this program was built with.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Install it although no signature can be verified: the checksum alone says that
    /// it arrived whole, not who made it.
    #[arg(long, conflicts_with = "key")]
    pub(crate) unsigned: bool,
    /// Install an older version.
    #[arg(long)]
    pub(crate) downgrade: bool,
    /// Install the version again that is installed, and go on although a PostgreSQL
    /// database is not backed up.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// Leave configuration and data where they are.
    #[arg(long)]
    pub(crate) keep_data: bool,
    /// Do it.
    #[arg(long)]
    pub(crate) yes: bool,
}
