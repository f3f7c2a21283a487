import * as v from 'valibot';
import { described } from './field.ts';
import { shortText } from './limits.ts';
import { longestMs, secretName, secretValue, whole } from './tool.ts';

/** The form of a server's name. The names of the server's tools begin with it. */
export const serverName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const longestServerName = 32;

/** The maximum number of tools in a list. */
const mostNamed = 500;

const toolNames = v.pipe(v.array(shortText(200)), v.maxLength(mostNamed, `at most ${mostNamed}`));
const scope = v.pipe(
	v.string(),
	v.regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'a scope has visible ASCII characters without spaces'),
);

const serverAuth = v.union(
	[
		v.literal('oauth'),
		v.strictObject({
			scopes: v.optional(v.pipe(v.array(scope), v.maxLength(50, 'at most 50'))),
			clientId: v.optional(v.pipe(shortText(500), v.regex(/^[\x20-\x7e]+$/, 'must be visible ASCII characters'))),
			clientSecret: v.optional(
				v.pipe(shortText(100), v.regex(/^\$\{[A-Za-z_]\w{0,63}\}$/, `must be \${NAME}, the name of what holds it`)),
			),
		}),
	],
	"must be 'oauth', or { scopes?, clientId?, clientSecret? }",
);

const entries = {
	url: described(shortText(2_000), 'The https URL of the server.'),
	headers: described(
		v.record(v.string(), v.string('must be a text')),
		`Headers of each request. \${NAME} in a value is the secret of that name.`,
	),
	auth: described(
		serverAuth,
		'How its users log in: oauth (OAuth 2.1), or an object with what its provider says to set.',
	),
	allow: described(toolNames, 'The only tools that are offered, by the server’s own names.'),
	needsApproval: described(
		v.union([v.boolean(), toolNames], 'must be true, false or a list of tools'),
		'Whether a person decides about each call, or about those of these tools.',
	),
	safe: described(toolNames, 'Tools that may be called again after a crash.'),
	timeoutMs: described(whole(longestMs), 'How long a call may take, in milliseconds.'),
};

/** The fields that both agents and owners define. */
export const serverSettings = {
	auth: v.optional(entries.auth),
	allow: v.optional(entries.allow),
	needsApproval: v.optional(entries.needsApproval),
	safe: v.optional(entries.safe),
	timeoutMs: v.optional(entries.timeoutMs),
};

export const serverBody = v.strictObject({
	url: entries.url,
	headers: v.optional(entries.headers, {}),
	secrets: v.optional(
		described(
			v.record(secretName, secretValue),
			'The secrets by their names. No answer shows one. A secret that is left out is kept as long as the URL stays the same and something names it.',
		),
	),
	...serverSettings,
});

/** A server without its secrets. */
export const storedServer = v.object({
	url: entries.url,
	headers: entries.headers,
	...serverSettings,
	secretNames: v.array(v.string()),
});

const shownServerTool = v.object({
	name: described(v.string(), 'The server’s own name of it.'),
	hash: described(v.string(), 'The SHA-256 of what the server says of it now.'),
	isChanged: described(
		v.boolean(),
		'Whether that is not what was accepted. Such a tool is not called until it is accepted.',
	),
	differences: v.optional(
		described(
			v.array(v.object({ field: v.string(), accepted: v.string(), offered: v.string() })),
			'The change: the field, the accepted value and the present value.',
		),
	),
});

const about = {
	name: v.string(),
	from: described(v.picklist(['owner', 'agent']), 'Who names it: you, or agents of this Worker.'),
	agents: v.optional(described(v.array(v.string()), 'The agents that name it.')),
	url: v.string(),
	headers: v.optional(v.record(v.string(), v.string())),
	...serverSettings,
	secretNames: v.optional(described(v.array(v.string()), 'The names of its secrets.')),
	isLoggedIn: v.optional(described(v.boolean(), 'Whether you are logged in, if it wants a login.')),
	createdAt: v.optional(v.string()),
	updatedAt: v.optional(v.string()),
};

export const shownServer = v.object(about);

export const shownServerDetails = v.object({
	...about,
	tools: v.optional(v.array(shownServerTool)),
	problem: v.optional(described(v.string(), 'Why its tools could not be listed.')),
});

export const serverList = v.object({ servers: v.array(shownServer) });

export const acceptBody = v.strictObject({
	tools: v.pipe(
		v.record(
			v.string(),
			v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be the hash that the server was shown with')),
		),
		v.check((tools) => Object.keys(tools).length > 0, 'must name a tool'),
		v.check((tools) => Object.keys(tools).length <= mostNamed, `at most ${mostNamed}`),
		v.description('The tools by their names, each with the hash that was shown.'),
	),
});

export const loginStart = v.object({
	url: v.optional(described(v.string(), 'The page to open in a browser. It is for you alone.')),
	isLoggedIn: v.boolean(),
});

/** The OAuth Client ID Metadata Document of this Worker. */
export const clientMetadata = v.object({
	client_id: v.string(),
	client_name: v.string(),
	client_uri: v.string(),
	redirect_uris: v.array(v.string()),
	grant_types: v.array(v.string()),
	response_types: v.array(v.string()),
	token_endpoint_auth_method: v.string(),
});
