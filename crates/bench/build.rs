//! Says whether the recordings of real programs are beside the repository, so
//! that the tests which read them are shown as ignored where they are not.

use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(recordings)");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    println!("cargo::rerun-if-changed={}", folder.display());
    if folder.is_dir() {
        println!("cargo::rustc-cfg=recordings");
    }
}
