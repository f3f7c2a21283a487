import type { MiddlewareHandler } from 'hono';

/**
 * The security headers of every answer. A page that needs more rights sets its own. The resource policy does not apply
 * to CORS requests: the allow-list decides about those.
 */
const headers = {
	'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	'cross-origin-resource-policy': 'same-origin',
	'referrer-policy': 'no-referrer',
	'strict-transport-security': 'max-age=31536000',
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
} as const;

/** Sets the headers before the handler runs, so the answer's body is passed on unchanged. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
	for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
	await next();
};
