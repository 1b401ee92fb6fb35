//! Tokens over real sockets: what each right permits, links for one session, and the end of tokens.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use pi_serve::entrance::Right;
use pi_serve::entrance::tokens::NewToken;
use serde_json::{Value, json};

use crate::home::Home;
use crate::raw::{Raw, bearer, log_in, operations, session};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_viewing_changes_nothing_on_any_route() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let id = session(&home, &raw).await;
    let admin = raw.token("owner", Right::Admin);
    let view = raw.token("visitor", Right::View);
    let file = raw.server.state().live(&id).unwrap().1.file().unwrap();
    let before = std::fs::read(&file).unwrap();
    let operations = operations();
    let permitted: BTreeSet<(&str, &str)> = operations
        .iter()
        .filter(|(_, _, right)| right.is_none_or(|right| right == Right::View))
        .map(|(method, path, _)| (method.as_str(), path.as_str()))
        .collect();
    let paths: BTreeSet<&str> = operations.iter().map(|(_, path, _)| path.as_str()).collect();
    assert!(operations.iter().any(|(_, _, right)| *right == Some(Right::Admin)));
    for path in paths {
        let real =
            path.replace("{id}", &id).replace("{name}", "owner").replace("{hash}", &"a".repeat(64));
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT",
            "PROPFIND",
        ] {
            if permitted.contains(&(method, path)) {
                continue;
            }
            let authorization = bearer(&view);
            let headers =
                [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
            let body =
                json!({ "cwd": home.project(), "name": "new", "right": "admin", "token": "x" });
            let answer = raw.send(method, &real, &headers, &body.to_string()).await;
            let is_operation = operations.iter().any(|(own, at, _)| own == method && at == path);
            match is_operation {
                true => assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (403, "missing_right"),
                    "{method} {path}"
                ),
                false => {
                    assert!(
                        matches!(answer.status, 400 | 404 | 405),
                        "{method} {path}: {answer:?}"
                    );
                }
            }
            if is_operation {
                let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
                assert!(message.starts_with("the token \"visitor\" may only view"), "{message}");
            }
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(raw.server.state().host.open_sessions().len(), 1);
    let tokens = raw.get("/api/v1/tokens", &admin).await.json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 2);
    let audit = raw.audit();
    assert!(
        audit.contains(r#""who":"visitor""#) && audit.contains(r#""reason":"missing_right""#),
        "{audit}"
    );
    // Each right permits what it includes, and no more.
    for (right, status) in [(Right::Drive, 403), (Right::Approve, 403), (Right::Admin, 200)] {
        let token = raw.token(right.as_str(), right);
        assert_eq!(raw.get("/api/v1/tokens", &token).await.status, status, "{right:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_for_one_session_reaches_no_other() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let (mine, other) = (session(&home, &raw).await, session(&home, &raw).await);
    let mut share = NewToken::new("share", Right::View);
    share.session = Some(mine.clone());
    let share = raw.token_with(share);
    for (method, path, right) in operations() {
        if method != "GET"
            || right != Some(Right::View)
            || path.ends_with("/rpc")
            || path.ends_with("/acp")
        {
            continue;
        }
        let real = path.replace("{name}", "owner").replace("{hash}", &"a".repeat(64));
        if path.starts_with("/api/v1/sessions/{id}") {
            let answer = raw.get(&real.replace("{id}", &other), &share).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "no_session"), "{path}");
            let nowhere = raw.get(&real.replace("{id}", "nothing"), &share).await;
            assert_eq!(
                nowhere.body.replace("nothing", &other),
                answer.body,
                "as if it did not exist"
            );
        } else if path.ends_with("/events") {
            let mut events = raw.events(&path, &share, None).await;
            let changed = events.until("needs-you").await;
            assert!(!changed.data.to_string().contains(&other));
        } else {
            let answer = raw.get(&real.replace("{id}", &other), &share).await;
            assert!(matches!(answer.status, 200 | 403), "{path} {answer:?}");
            assert!(!answer.body.contains(&other), "{path} {answer:?}");
        }
    }
    let list = raw.get("/api/v1/sessions?q=question", &share).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["sessions"][0]["id"], mine.as_str());
    for path in ["entries", "outline", "export", "diff"] {
        assert_eq!(
            raw.get(&format!("/api/v1/sessions/{mine}/{path}"), &share).await.status,
            200,
            "{path}"
        );
    }
    let resume = raw
        .send(
            "GET",
            &format!("/api/v1/sessions/{mine}/events"),
            &[("Authorization", &bearer(&share)), ("Last-Event-ID", &format!("{other}:0"))],
            "",
        )
        .await;
    assert_eq!(resume.status, 404, "the session of an event id is checked, too");
    assert_eq!(raw.get("/api/v1/runs", &share).await.status, 403);
    assert_eq!(raw.get("/metrics", &share).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_and_expired_tokens_end_with_their_connections() {
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let id = session(&home, &raw).await;
    let admin = raw.token("owner", Right::Admin);
    let phone = raw.token("phone", Right::View);
    let (cookie, _) = log_in(&raw, &phone).await;
    let mut events = raw.events(&format!("/api/v1/sessions/{id}/events"), &phone, None).await;
    let mut lists = raw.events("/api/v1/events", &phone, None).await;
    assert_eq!(events.any().await.unwrap().data["type"], "heartbeat");
    assert_eq!(raw.delete("/api/v1/tokens/phone", &admin).await.status, 204);
    for stream in [&mut events, &mut lists] {
        let last = stream.until("closed").await;
        assert_eq!(last.data["reason"], "token ended");
        assert_eq!(stream.next().await, None);
    }
    assert_eq!(raw.get("/api/v1/me", &phone).await.status, 401);
    assert_eq!(raw.send("GET", "/api/v1/me", &[("Cookie", &cookie)], "").await.status, 401);
    // Another process revokes it.
    let tablet = raw.token("tablet", Right::View);
    let mut events = raw.events(&format!("/api/v1/sessions/{id}/events"), &tablet, None).await;
    assert_eq!(events.any().await.unwrap().data["type"], "heartbeat");
    let directory = raw.server.state().options.directory.clone();
    pi_serve::entrance::tokens::Tokens::open(&directory).unwrap().revoke("tablet").unwrap();
    assert_eq!(events.until("closed").await.data["reason"], "token ended");
    // Time ends one.
    let mut short = NewToken::new("short", Right::View);
    short.life = Some(SignedDuration::from_secs(2));
    let short = raw.token_with(short);
    let mut events = raw.events(&format!("/api/v1/sessions/{id}/events"), &short, None).await;
    assert_eq!(events.until("closed").await.data["reason"], "token ended");
    assert_eq!(raw.get("/api/v1/me", &short).await.status, 401);
    let names: Vec<Value> = raw.get("/api/v1/tokens", &admin).await.json()["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token["name"].clone())
        .collect();
    assert_eq!(names, ["owner"]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_in_no_file_and_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let raw = Raw::new(&home).await;
    let token = raw.token("owner", Right::Admin);
    let (cookie, csrf) = log_in(&raw, &token).await;
    let added = raw
        .post("/api/v1/tokens", &token, &json!({ "name": "phone", "right": "view", "for": "2h" }))
        .await
        .json();
    let phone = added["token"].as_str().unwrap().to_owned();
    assert_eq!(added["url"], format!("http://{}/#t={phone}", raw.address));
    raw.get("/api/v1/me", "wrong-token-value").await;
    let id = session(&home, &raw).await;
    raw.post("/api/v1/sessions", &phone, &json!({ "name": "a secret name" })).await;
    let cookie = cookie.split('=').nth(1).unwrap().to_owned();
    let directory = raw.server.state().options.directory.clone();
    assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
        let text = std::fs::read_to_string(&path).unwrap();
        for secret in [
            &token,
            &phone,
            &cookie,
            &csrf,
            "wrong-token-value",
            "a secret name",
            "A question.",
            "An answer.",
        ] {
            assert!(!text.contains(secret), "{} has {secret}", path.display());
        }
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, ["audit.jsonl", "tokens.json", "tokens.lock"]);
    let audit = raw.audit();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |action: &str| lines.iter().find(|line| line["action"] == action).unwrap();
    assert_eq!(find("POST /api/v1/tokens")["who"], "owner");
    assert_eq!(find("GET /api/v1/me")["outcome"], "refused");
    assert_eq!(find("POST /api/v1/sessions")["peer"], "127.0.0.1");
    assert!(!audit.contains(&id) || audit.contains("\"session\""));
    // A file of tokens that cannot be read permits nothing and stays as it is.
    std::fs::write(directory.join("tokens.json"), "{ not json").unwrap();
    let answer = raw.get("/api/v1/me", &token).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "tokens_unavailable"));
    assert!(raw.server.state().tokens.add(NewToken::new("x", Right::View)).is_err());
    assert_eq!(std::fs::read_to_string(directory.join("tokens.json")).unwrap(), "{ not json");
}
