import { type Config, readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { findOrigin } from '../config/environment.ts';
import { askDirectory, everybody } from '../objects/directory/api.ts';
import { askLedger } from '../objects/ledger/api.ts';
import { askMemory } from '../objects/memory/api.ts';
import { isMissingSqlite } from '../objects/missing-sqlite.ts';
import { publishedPrefix } from '../objects/publisher/api.ts';
import { reach, takeValue, usualLimitMs } from '../objects/reach.ts';
import type { Problem } from '../wire/error.ts';

/** A call for each class of objects. The call only reads, from an object whose name no owner has. */
const objects = {
	SESSIONS: {
		className: 'Session',
		call: async ({ sessions, placeSessions }: Config) => {
			const id = placeSessions({ owner: everybody, agent: '' }).idFromName(everybody);
			const call = () => sessions.get(id).state({ owner: everybody });
			takeValue(await reach(call, { what: 'A session', isSafe: true, timeoutMs: usualLimitMs }));
		},
	},
	LEDGERS: {
		className: 'Ledger',
		call: ({ ledgers }: Config) =>
			askLedger(
				() => ledgers.get(ledgers.idFromName(everybody)),
				(one) => one.days(1),
			),
	},
	DIRECTORIES: {
		className: 'Directory',
		call: ({ directories }: Config) => askDirectory(directories, everybody, (one) => one.list({ limit: 1 })),
	},
	MEMORIES: {
		className: 'Memory',
		call: ({ memories }: Config) => askMemory(memories, { owner: everybody }, (one) => one.list({ limit: 1 }), true),
	},
	PUBLISHERS: {
		className: 'Publisher',
		call: ({ publishers }: Config) =>
			reach(() => publishers.get(publishers.idFromName(publishedPrefix)).check(), {
				what: 'What publishes skills',
				isSafe: true,
				timeoutMs: usualLimitMs,
			}),
	},
} as const;

/** Returns one problem for all objects without SQLite, with the lines to add to `wrangler.toml`. */
export async function findObjectsWithoutSqlite(
	env: WorkerEnv,
	{ hasMemory }: { readonly hasMemory: boolean },
): Promise<Problem[]> {
	const settings = readConfig(env);
	const { bindings = {}, hasOwnSkills = false } = findOrigin(env);
	const found = Object.entries(objects).map(async ([name, { className, call }]) => {
		if (name === 'PUBLISHERS' && hasOwnSkills) return [];
		if (name === 'MEMORIES' && (!hasMemory || env.MEMORIES === undefined)) return [];
		try {
			await call(settings);
			return [];
		} catch (error) {
			// Other errors do not come from the setup: the session does not exist, or the object is busy.
			return isMissingSqlite(error) ? [{ name: String(Reflect.get(bindings, name) ?? name), className }] : [];
		}
	});
	const missing = (await Promise.all(found)).flat();
	if (missing.length === 0) return [];
	const classes = missing.map(({ className }) => `"${className}"`).join(', ');
	const whose = missing.length === 1 ? 'its class' : 'their classes';
	const migration = `[[migrations]] with a tag that no other has, such as tag = "runlet", and new_sqlite_classes = [${classes}]`;
	const exported = missing.map(
		({ className }) => `[exports.${className}] with type = "durable-object", storage = "sqlite"`,
	);
	const message = `nothing in wrangler.toml gives SQLite to ${whose}. Add: ${migration}. In a wrangler.toml that has [exports] for other classes: ${exported.join(', ')}. Wrangler takes only one of the two.`;
	return [{ where: missing.map(({ name }) => name).join(', '), message }];
}
