import { modelTransports } from '../../agent/labels.ts';
import type { MessageRecord } from './messages.ts';
import type { SessionStore } from './store.ts';

/** The maximum length of a session's text in the owner's index, in characters (docs/sessions.md, "Find one by what was said"). */
const longestText = 50_000;

/** How much of the history is read for the text at most, in characters. */
const mostRead = 1_000_000;

/**
 * Returns the newest texts of people and of the model, the oldest first. Leaves out replaced messages, results of
 * tools, attachments, texts that another agent or a schedule sent, and a run that has not ended. Undefined without a text.
 */
export function readContents({ messages, runs }: SessionStore): string | undefined {
	const run = runs.get();
	const open = run?.status === 'running' ? run.n : undefined;
	const records = messages.newest({ characters: mostRead }).filter((record) => record.run !== open);
	const text = records.flatMap(listTexts).join('\n').slice(-longestText);
	return text === '' ? undefined : text;
}

function listTexts({ message, inbound }: MessageRecord): readonly string[] {
	const { role } = message;
	if (role !== 'assistant' && (role !== 'user' || modelTransports.has(inbound?.transport ?? ''))) return [];
	const { content, parts = [] } = message;
	if (parts.length === 0) return [content];
	const said = parts.slice(0, parts.length - (inbound?.attachments?.length ?? 0));
	return said.flatMap(({ kind, text }) => (kind === 'text' && text !== undefined ? [text] : []));
}
