//! What is remembered, in service: the knowledge base, the conversations of
//! people and agents, the code maps of repositories and what tokens cost. The
//! rules are in the pure crates below; here they meet store, clock and model.

pub mod code;
pub mod conversations;
pub mod cost;
pub mod knowledge;
