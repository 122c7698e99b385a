//! Where a benchmark writes.

use missiond_api::Home;
use missiond_console::failure::Failure;
use tempfile::TempDir;

/// A folder beside the real data: what a disk promises differs from folder to folder.
pub(crate) fn folder() -> Result<TempDir, Failure> {
    let home = Home::from_env()?;
    std::fs::create_dir_all(home.data_dir())?;
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(home.data_dir())?;
    Ok(folder)
}
