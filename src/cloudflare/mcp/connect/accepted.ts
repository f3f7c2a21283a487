import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { isRecord } from '../../../core/base/json.ts';
import { type Acceptance, type AcceptedTools, toolDefinition } from '../../../core/mcp/acceptance.ts';
import type { Config } from '../../config/config.ts';
import { askRegistry } from '../../objects/directory/registry.ts';
import type { LoginPlace } from './login-store.ts';

const entry = v.tuple([v.string(), v.object({ hash: v.string(), definition: toolDefinition })]);

/** By the server's own names, which may be any: `v.record` would leave out `constructor` and `__proto__`. */
const accepted = v.pipe(
	v.custom<object>((value) => isRecord(value)),
	v.transform((tools) => Object.entries(tools)),
	v.array(entry),
	v.transform((entries): AcceptedTools => Object.fromEntries(entries)),
);
const stored = v.object({ url: v.string(), tools: accepted });

/** The most characters of what is kept of a server. A row has 2 MB. */
const longest = 1_200_000;

/** The most servers of which an owner keeps something. */
const mostServers = 200;

/** How often a change is tried again that somebody else's came before. */
const mostTries = 20;

/** What an owner has accepted of a server's tools, in the owner's registry. It is for one address. */
export interface OwnerAcceptance extends Acceptance {
	/** Accepts definitions in place of those that were accepted before. */
	replace(tools: AcceptedTools): Promise<void>;
}

/** Makes the acceptance of a server. Of two definitions that come first at once, one stays. */
export function createAcceptance(config: Config, { owner, name, url }: LoginPlace): OwnerAcceptance {
	const readVersion = async () => {
		const entry = await askRegistry(config.directories, owner, (one) => one.getEntry('mcp-tools', name));
		const before = entry === undefined ? undefined : v.parse(stored, JSON.parse(entry.definition));
		return { tools: before?.url === url ? before.tools : {}, version: entry?.version };
	};
	const change = async (join: (before: AcceptedTools) => AcceptedTools): Promise<void> => {
		for (let tries = 1; tries <= mostTries; tries++) {
			const { tools, version } = await readVersion();
			const definition = JSON.stringify({ url, tools: shorten(join(tools)) });
			const entry = { kind: 'mcp-tools', name, definition, replaces: version, most: mostServers } as const;
			const outcome = await askRegistry(config.directories, owner, (one) => one.putEntry(entry));
			if (outcome === 'stored') return;
			if (outcome === 'full')
				throw new RunletError('conflict', `Tools of ${mostServers} servers are kept, and no more.`);
		}
		throw new RunletError('overloaded', `The accepted tools of ${name} are changed too often. Try again.`);
	};
	return {
		read: async () => (await readVersion()).tools,
		accept: (tools) => change((before) => ({ ...tools, ...before })),
		replace: (tools) => change((before) => ({ ...before, ...tools })),
	};
}

/** Of too long definitions only the hashes are kept: a change is seen, and not what it was. */
function shorten(tools: AcceptedTools): AcceptedTools {
	let length = 0;
	return Object.fromEntries(
		Object.entries(tools).map(([name, tool]) => {
			length += JSON.stringify(tool).length;
			return [name, length <= longest ? tool : { hash: tool.hash, definition: { name, inputSchema: {} } }];
		}),
	);
}
