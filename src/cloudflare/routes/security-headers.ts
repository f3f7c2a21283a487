import type { MiddlewareHandler } from 'hono';

/**
 * What every answer tells a browser. A page that needs more says so itself. The resource policy is not about requests
 * with CORS: those are answered by the allow-list.
 */
const headers = {
	'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	'cross-origin-resource-policy': 'same-origin',
	'referrer-policy': 'no-referrer',
	'strict-transport-security': 'max-age=31536000',
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
} as const;

/** They stand before the answer is made, and stay: an answer's own body is passed on as it is. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
	for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
	await next();
};
