import * as v from 'valibot';
import { isRecord } from '../../../core/base/json.ts';
import { type Acceptance, type AcceptedTools, toolDefinition } from '../../../core/mcp/acceptance.ts';
import type { Config } from '../../config/config.ts';
import { askRegistry, changeEntry, type Entry } from '../../objects/directory/registry.ts';
import type { LoginPlace } from './login-store.ts';

const entry = v.tuple([v.string(), v.object({ hash: v.string(), definition: toolDefinition })]);

/** Not `v.record`, which would drop tools named `constructor` or `__proto__`: the server chooses the names. */
const accepted = v.pipe(
	v.custom<object>((value) => isRecord(value)),
	v.transform((tools) => Object.entries(tools)),
	v.array(entry),
	v.transform((entries): AcceptedTools => Object.fromEntries(entries)),
);
const stored = v.object({ url: v.string(), tools: accepted });

/** The maximum length of the stored tools. A row holds at most 2 MB. */
const longest = 1_200_000;

const mostServers = 200;

/** The tools that an owner has accepted from a server at one address. */
export interface OwnerAcceptance extends Acceptance {
	/** Replaces definitions that were accepted before. */
	replace(tools: AcceptedTools): Promise<void>;
}

/** If two requests accept a new tool at the same time, only the first definition is stored. */
export function createAcceptance(config: Config, { owner, name, url }: LoginPlace): OwnerAcceptance {
	const readTools = (entry: Pick<Entry, 'definition'> | undefined): AcceptedTools => {
		const before = entry === undefined ? undefined : v.parse(stored, JSON.parse(entry.definition));
		return before?.url === url ? before.tools : {};
	};
	const change = (join: (before: AcceptedTools) => AcceptedTools): Promise<void> =>
		changeEntry(config.directories, owner, { kind: 'mcp-tools', name, most: mostServers }, async (entry) => ({
			definition: JSON.stringify({ url, tools: shorten(join(readTools(entry))) }),
		}));
	return {
		read: async () =>
			readTools(await askRegistry(config.directories, owner, (registry) => registry.getEntry('mcp-tools', name))),
		accept: (tools) => change((before) => ({ ...tools, ...before })),
		replace: (tools) => change((before) => ({ ...before, ...tools })),
	};
}

/** Keeps only the hashes of definitions beyond the limit. Their changes can be detected, but not shown. */
function shorten(tools: AcceptedTools): AcceptedTools {
	let length = 0;
	return Object.fromEntries(
		Object.entries(tools).map(([name, tool]) => {
			length += JSON.stringify(tool).length;
			return [name, length <= longest ? tool : { hash: tool.hash, definition: { name, inputSchema: {} } }];
		}),
	);
}
