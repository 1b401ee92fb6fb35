//! Gateways such as Radius, which publish their authorization page at `/v1/oauth`.

use serde_json::Value;
use url::Url;

use super::endpoint::{self, checked};
use super::error::OauthError;
use super::service::Service;
use crate::WebClient;

/// Completes a service with the endpoints of its gateway.
pub(super) async fn complete(
    web: &WebClient,
    gateway: &str,
    service: &mut Service,
) -> Result<(), OauthError> {
    let base = checked(gateway)?;
    let at = |path: &str| {
        let mut url: Url = base.clone();
        let parent = base.path().trim_end_matches('/');
        url.set_path(&format!("{parent}/v1/oauth{path}"));
        url.to_string()
    };
    if service.authorize_url.is_none() {
        let reply = endpoint::get(web, &at(""), &[]).await?;
        let missing = reply.nonsense("it names no `authorizationEndpoint`");
        let object = reply.success()?;
        let page = object.get("authorizationEndpoint").and_then(Value::as_str).ok_or(missing)?;
        checked(page)?;
        service.authorize_url = Some(page.to_owned());
    }
    service.token_url.get_or_insert_with(|| at("/token"));
    service.device_url.get_or_insert_with(|| at("/device"));
    Ok(())
}
