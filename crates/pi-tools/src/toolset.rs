//! Tools that go together.

use std::sync::Arc;

use pi_agent::AgentTool;

use crate::workspace::Workspace;
use crate::{find, grep, ls, read};

/// Tools that look and change nothing: `read`, `grep`, `find`, `ls`.
pub fn read_only(workspace: &Arc<Workspace>) -> Vec<Arc<dyn AgentTool>> {
    vec![
        Arc::new(read(Arc::clone(workspace))),
        Arc::new(grep(Arc::clone(workspace))),
        Arc::new(find(Arc::clone(workspace))),
        Arc::new(ls(Arc::clone(workspace))),
    ]
}
