//! A sign-in through the dialogs of a session.

use pi_protocol::HookFuture;
use pi_web::oauth::{Cancelled, Interaction, LoginEvent, Prompt};

use pi_coding_agent::extension::{ExtensionContext, NotifyKind};

use pi_coding_agent::OpenPage;

/// The dialogs of a session.
pub(super) struct UiInteraction {
    pub(super) context: ExtensionContext,
    pub(super) open: Option<OpenPage>,
}

impl Interaction for UiInteraction {
    fn show(&self, event: LoginEvent) {
        let text = match event {
            LoginEvent::AuthorizeUrl(url) => {
                if let Some(open) = &self.open {
                    open(&url);
                }
                format!("Sign in on this page:\n{url}")
            }
            LoginEvent::Info(text) => text,
            _ => return,
        };
        self.context.ui().notify(text, NotifyKind::Info);
    }

    fn ask(&self, prompt: Prompt) -> HookFuture<Result<String, Cancelled>> {
        let context = self.context.clone();
        Box::pin(async move {
            let title = "Sign in in the browser, or paste the address to which it was sent";
            let answer = context.ui().input(format!("{title}\n{}", prompt.message), None).await;
            answer.filter(|text| !text.trim().is_empty()).ok_or(Cancelled)
        })
    }
}
