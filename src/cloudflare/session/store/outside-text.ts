import { providerName } from '../../../core/tool/index.ts';
import type { MessageRecord } from './message-record.ts';
import type { SessionStore } from './store.ts';

/** The ways in which a person, or the owner's own server, writes to a session. */
const ownTransports: ReadonlySet<string> = new Set(['http', 'ui', 'chat-completions']);

/** Messages and bytes that are read at a time. */
const [atOnce, bytesAtOnce] = [500, 1_000_000];

/**
 * Makes the check whether a session holds text from outside: an import's, a webhook's, an attachment's, an uploaded file's, or a tool's
 * that is none of `insideTools`. It is answered by everything that was ever stored, also by what was replaced or
 * summed up, so no crash and no copy of the session changes the answer. What was read once is not read again.
 */
export function createOutsideCheck(
	store: Pick<SessionStore, 'messages' | 'runs' | 'state' | 'workspace' | 'session'>,
): (insideTools: ReadonlySet<string>) => boolean {
	let from = 0;
	let isFound = false;
	const findInMessages = (insideTools: ReadonlySet<string>): boolean => {
		for (;;) {
			const { records, next } = store.messages.page({ from, limit: atOnce, bytes: bytesAtOnce });
			from = 1 + (records.at(-1)?.seq ?? from - 1);
			if (records.some((record) => isFromOutside(record, insideTools))) return true;
			if (next === undefined) return false;
		}
	};
	return (insideTools) => {
		isFound ||=
			store.session().isImported === true ||
			store.workspace.journal.hasChangesOfPeople ||
			hasStateOfCopy(store) ||
			findInMessages(insideTools);
		return isFound;
	};
}

function isFromOutside({ message, inbound }: MessageRecord, insideTools: ReadonlySet<string>): boolean {
	if (inbound !== undefined && !ownTransports.has(inbound.transport)) return true;
	if (inbound?.attachments !== undefined && inbound.attachments.length > 0) return true;
	if (message.role === 'user') return message.parts?.some(({ kind }) => kind !== 'text') === true;
	// A call counts as soon as it is stored: its result may be, too.
	return (
		message.role === 'assistant' && message.toolCalls?.some(({ name }) => !insideTools.has(providerName(name))) === true
	);
}

/** Whether tools of another session have written the state of this one: a copy may leave out what they had read before. */
function hasStateOfCopy({ runs, state }: Pick<SessionStore, 'runs' | 'state'>): boolean {
	return runs.hasRestored && state.list().length > 0;
}
