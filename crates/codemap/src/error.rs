//! What can go wrong with a whole folder. What goes wrong with one file is a
//! reason to skip it, not an error.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    #[error("there is no folder {path}: {source}", path = .path.display())]
    NoFolder { path: PathBuf, source: io::Error },
    #[error(
        "{path} is in no git repository and was not indexed yet: `mission code index {path}` \
         indexes the folder as it is",
        path = .0.display()
    )]
    NoRepository(PathBuf),
    #[error("{path} cannot be indexed: name a folder below it", path = .0.display())]
    TooWide(PathBuf),
    #[error("the pass over {path} was stopped", path = .0.display())]
    Stopped(PathBuf),
    #[error("the query has {given} characters; at most {limit} are allowed")]
    QueryTooLong { given: usize, limit: usize },
    #[error("the query has no word to search for")]
    EmptyQuery,
}
