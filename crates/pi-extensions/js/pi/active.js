// Refusals: uses of `pi` and `ctx` by code whose session is gone, or that is not loaded yet.

const STALE =
	"This extension ctx is stale after session replacement or reload. " +
	"Work that follows newSession, fork or switchSession belongs into withSession, with the ctx that it receives; after reload, no old ctx works.";

const LOADING = "Extension runtime not initialized. Action methods cannot be called during extension loading.";

/** Throws if the session of a binding was replaced, or its extension failed to load. */
function assertActive(binding) {
	if (binding.hasFailed) throw new Error(`Extension "${binding.path}" failed to load and its API is no longer active.`);
	if (binding.isStale) throw new Error(STALE);
}

/** Throws if a binding cannot act on a session. */
function assertBound(binding) {
	assertActive(binding);
	if (binding.isLoading) throw new Error(LOADING);
}

exports.assertActive = assertActive;
exports.assertBound = assertBound;
