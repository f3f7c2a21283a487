import { findChildWork } from '../../agent/children.ts';
import type { EventSource, TreePlace } from '../../agent/event-source.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { formatEventId, toStart } from '../events/event-id.ts';
import type { SessionStore } from '../store/store.ts';

/** Where the children of a session are found. */
interface TreeOptions {
	readonly runtime: Runtime;
	readonly store: SessionStore;
	readonly config: () => Config;
}

/** Adds the events of a session's children to its own, for a reader who has come to a place. */
export type JoinChildren = (own: EventSource, from?: TreePlace) => EventSource;

/** Finds how the events of a session's children are added to its own; nothing where its agent has no children. */
export function findJoin({ runtime, store, config }: TreeOptions): JoinChildren | undefined {
	if (!store.exists()) return undefined;
	const { id: parent, owner, agent: name } = store.session();
	const agent = runtime.agents.find((one) => one.name === name);
	const work = [...(agent?.tools ?? []), ...(agent?.skillTools ?? [])].map(findChildWork).find((one) => one);
	if (work === undefined) return undefined;
	const open = ({ id }: { readonly id: string }, lastId: string) => {
		const { sessions } = config();
		return sessions.get(sessions.idFromString(id)).events({ owner, parent }, lastId, { type: 'lines' });
	};
	// A session that was removed has no children.
	const list = () => (store.exists() ? store.calls.children.list() : []);
	return (own, from) => work.joinEvents(own, { list, open, start: formatEventId(toStart(1)), from });
}
