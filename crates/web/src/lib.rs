//! The page of the web board, inside the program.
//!
//! What `cargo xtask web` has built into `web/dist` is compiled in, each file with
//! its kind, a name for its contents and its compressed form. A program built
//! without it has a plain page that says how to have the real one.

/// One file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Below the root, without a slash before it.
    pub path: &'static str,
    pub content_type: &'static str,
    /// Changes with the contents; quoted, as in the header.
    pub etag: &'static str,
    pub body: &'static [u8],
    pub gzip: Option<&'static [u8]>,
    pub brotli: Option<&'static [u8]>,
}

impl Asset {
    /// Whether its name changes with its contents, so that it never has to be
    /// asked for again.
    #[must_use]
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with("assets/")
    }
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The file at a path below the root.
#[must_use]
pub fn find(path: &str) -> Option<&'static Asset> {
    let place = ASSETS.binary_search_by(|asset| asset.path.cmp(path)).ok()?;
    Some(&ASSETS[place])
}

/// What every address that is not a file shows.
#[must_use]
pub fn page() -> &'static Asset {
    find("index.html").unwrap_or(&PLAIN)
}

const PLAIN: Asset = Asset {
    path: "index.html",
    content_type: "text/html; charset=utf-8",
    etag: "\"plain\"",
    body: include_bytes!("plain.html"),
    gzip: None,
    brotli: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_by_its_path_and_there_is_always_a_page() {
        for asset in ASSETS {
            assert_eq!(find(asset.path), Some(asset));
            assert!(asset.etag.starts_with('"') && asset.etag.len() > 10);
        }
        assert_eq!(find("../Cargo.toml"), None);
        assert!(page().content_type.starts_with("text/html"));
        assert!(!page().body.is_empty());
    }
}
