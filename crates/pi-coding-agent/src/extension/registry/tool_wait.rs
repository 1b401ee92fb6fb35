//! Tools that appear late, and waiting for them.

use std::sync::Arc;

use pi_agent::BoxFuture;

use super::{Owned, Registry};

/// The tools that a caller is about to need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolWait {
    /// The tools of these namespaces. Unknown names are ignored.
    Namespaces(Vec<String>),
    /// All tools.
    All,
}

/// Waits until tools are registered that were announced before, or until they are given up.
///
/// Contract: returns in bounded time, and at once if there is nothing to wait for.
pub type WaitForTools = Arc<dyn Fn(ToolWait) -> BoxFuture<'static, ()> + Send + Sync>;

impl Registry {
    /// Registers a function that waits for the tools of an owner who registers them late.
    pub fn register_tool_wait(&self, owner: &str, wait: WaitForTools) {
        let mut contents = self.contents();
        contents.tool_waits.retain(|other| *other.owner != *owner);
        contents.tool_waits.push(Owned::new(owner, wait));
    }

    /// Waits for the tools of all owners at once.
    pub(crate) async fn wait_for_tools(&self, wait: ToolWait) {
        let waits: Vec<WaitForTools> = {
            let contents = self.contents();
            contents.tool_waits.iter().map(|one| Arc::clone(&one.item)).collect()
        };
        let waiting = waits.iter().map(|one| one(wait.clone()));
        futures_util::future::join_all(waiting).await;
    }
}
