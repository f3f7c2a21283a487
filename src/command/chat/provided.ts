/** Prints for `runlet chat` what the provider of the model did: the tools that it ran itself, and the sources of an answer. */

import { createFootnotes } from '../../client/footnotes.ts';
import type { RunEvent } from '../../client/index.ts';
import { createProviderCalls, hasEnded } from '../../client/provider-calls.ts';
import type { ProviderCall } from '../../client/types.ts';
import { print, toOneLine } from './print.ts';

/** Footnotes that are printed. */
const mostNotes = 50;

export function createProvided() {
	const footnotes = createFootnotes();
	const calls = createProviderCalls(() => ({ isPrinted: false }));

	function printCall(call: ProviderCall) {
		const state = calls.take(call);
		const isOver = hasEnded(call);
		// Some providers tell the input only with the result.
		if (!state.isPrinted && (call.input !== undefined || isOver)) {
			state.isPrinted = true;
			print('dim', describeProviderCall(call));
		}
		if (call.isError === true) print('red', `← ${call.name}: ${toOneLine(call.output ?? 'The tool failed.')}`);
	}

	return {
		take(event: Extract<RunEvent, { type: 'provider_tool' | 'source' }>) {
			if (event.type === 'source') footnotes.add(event);
			else printCall(event);
		},
		endTurn() {
			calls.endTurn();
			footnotes.endTurn();
		},
		dropTurn() {
			calls.dropTurn();
			footnotes.dropTurn();
		},
		/** Prints the sources of the answer. */
		end() {
			footnotes.endTurn();
			const notes = footnotes.list();
			for (const { number, title, url } of notes.slice(0, mostNotes)) {
				const address = url === undefined || url === title ? '' : ` ${url}`;
				print('dim', `[${number}] ${toOneLine(title)}${address}`);
			}
			if (notes.length > mostNotes) print('dim', `… ${notes.length - mostNotes} more sources`);
		},
	};
}

/** Describes a call that the provider ran in one line. */
export function describeProviderCall({ name, input }: ProviderCall): string {
	return `→ ${name}${input === undefined ? '' : ` ${toOneLine(input)}`} (at the provider)`;
}
