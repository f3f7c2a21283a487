import * as v from 'valibot';
import { shortText } from './limits.ts';
import { secretName, secretValue } from './tool.ts';

/** The name of a server, which its tools begin with. */
export const serverName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** The most characters of a name. */
export const longestServerName = 32;

/** The most milliseconds of a call. */
const longestMs = 120_000;
/** The most tools that a list names. */
const mostNamed = 500;

const wholeMs = `must be a whole number from 1 to ${longestMs}`;
const toolNames = v.pipe(v.array(shortText(200)), v.maxLength(mostNamed, `at most ${mostNamed}`));
const scope = v.pipe(
	v.string(),
	v.regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'a scope has visible ASCII characters without spaces'),
);

/** The settings of a login, if the server needs any. */
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
	url: v.pipe(shortText(2_000), v.description('The https URL of the server.')),
	headers: v.pipe(
		v.record(v.string(), v.string('must be a text')),
		v.description(`Headers of each request. \${NAME} in a value is the secret of that name.`),
	),
	auth: v.pipe(
		serverAuth,
		v.description('How its users log in: oauth (OAuth 2.1), or an object with what its provider says to set.'),
	),
	allow: v.pipe(toolNames, v.description('The only tools that are offered, by the server’s own names.')),
	needsApproval: v.pipe(
		v.union([v.boolean(), toolNames], 'must be true, false or a list of tools'),
		v.description('Whether a person decides about each call, or about those of these tools.'),
	),
	safe: v.pipe(toolNames, v.description('Tools that may be called again after a crash.')),
	timeoutMs: v.pipe(
		v.number(wholeMs),
		v.integer(wholeMs),
		v.minValue(1, wholeMs),
		v.maxValue(longestMs, wholeMs),
		v.description('How long a call may take, in milliseconds.'),
	),
};

/** The fields of a server that agents and owners define alike. */
export const serverSettings = {
	auth: v.optional(entries.auth),
	allow: v.optional(entries.allow),
	needsApproval: v.optional(entries.needsApproval),
	safe: v.optional(entries.safe),
	timeoutMs: v.optional(entries.timeoutMs),
};

/** A server as its owner registers it. */
export const serverBody = v.strictObject({
	url: entries.url,
	headers: v.optional(entries.headers, {}),
	secrets: v.optional(
		v.pipe(
			v.record(secretName, secretValue),
			v.description(
				'The secrets by their names. No answer shows one. A secret that is left out is kept as long as the URL stays the same and something names it.',
			),
		),
	),
	...serverSettings,
});

/** A server as it is stored: without its secrets. */
export const storedServer = v.object({
	url: entries.url,
	headers: entries.headers,
	...serverSettings,
	secretNames: v.array(v.string()),
});

/** A tool of a server: its current definition, and whether the owner accepted it. */
const shownServerTool = v.object({
	name: v.pipe(v.string(), v.description('The server’s own name of it.')),
	hash: v.pipe(v.string(), v.description('The SHA-256 of what the server says of it now.')),
	isChanged: v.pipe(
		v.boolean(),
		v.description('Whether that is not what was accepted. Such a tool is not called until it is accepted.'),
	),
	differences: v.optional(
		v.pipe(
			v.array(v.object({ field: v.string(), accepted: v.string(), offered: v.string() })),
			v.description('What changed: the field, what was accepted, and what the server says now.'),
		),
	),
});

const about = {
	name: v.string(),
	from: v.pipe(v.picklist(['owner', 'agent']), v.description('Who names it: you, or agents of this Worker.')),
	agents: v.optional(v.pipe(v.array(v.string()), v.description('The agents that name it.'))),
	url: v.string(),
	headers: v.optional(v.record(v.string(), v.string())),
	...serverSettings,
	secretNames: v.optional(v.pipe(v.array(v.string()), v.description('The names of its secrets.'))),
	isLoggedIn: v.optional(v.pipe(v.boolean(), v.description('Whether you are logged in, if it wants a login.'))),
	createdAt: v.optional(v.string()),
	updatedAt: v.optional(v.string()),
};

/** A server as lists show it. */
export const shownServer = v.object(about);

/** A server with its tools. */
export const shownServerDetails = v.object({
	...about,
	tools: v.optional(v.array(shownServerTool)),
	problem: v.optional(v.pipe(v.string(), v.description('Why its tools could not be listed.'))),
});

export const serverList = v.object({ servers: v.array(shownServer) });

/** The changed tools to accept, each with the hash that the owner has seen. */
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
	url: v.optional(v.pipe(v.string(), v.description('The page to open in a browser. It is for you alone.'))),
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
