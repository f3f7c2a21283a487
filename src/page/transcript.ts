/** The conversation: what was said, the runs between, and failures. */

import type { Message } from '../client/types.ts';
import { toSaidText, toText } from '../client/words.ts';
import { createFileList } from './attachments.ts';
import { button, element, find } from './element.ts';
import { createRunView, type RunView, toEvents } from './run-view.ts';
import { createTail } from './tail.ts';
import type { CallView } from './tool-call.ts';

export function createTranscript() {
	const root = find('#transcript', HTMLElement);
	const tail = createTail(find('#scroller', HTMLElement));
	/** The calls that are shown, by their ids. */
	const calls = new Map<string, CallView>();

	function addMessage(text: string, files: readonly { readonly name: string; readonly size: number }[] = []) {
		const bubble = element('div', 'message', element('span', 'visually-hidden', 'You: '), text);
		if (files.length > 0) bubble.append(createFileList(files));
		root.append(bubble);
		return bubble;
	}

	/** Shows what the model is sent instead of the messages above. */
	function addSummary(text: string): void {
		const title = element('summary', '', 'The model reads the messages above as this summary');
		root.append(element('details', 'reasoning', title, element('div', 'body', text)));
	}

	return {
		root,
		tail,
		calls,
		addMessage,
		addRun: () => createRunView(root, calls),

		clear(): void {
			root.replaceChildren();
			calls.clear();
		},

		/** Shows the messages of earlier runs. */
		addHistory(messages: readonly Message[]): void {
			let view: RunView | undefined;
			let runId: string | undefined;
			for (const message of messages) {
				if (message.role === 'system') {
					addSummary(toText(message.content));
					continue;
				}
				if (message.role === 'user' || message.runId !== runId) {
					view?.end();
					view = undefined;
				}
				runId = message.runId;
				if (message.role === 'tool')
					calls.get(message.toolCallId)?.setResult(message.content, message.isError === true, message.parts);
				if (message.role === 'user' || (message.role === 'tool' && !view && message.isInput)) {
					addMessage(toSaidText(message), message.attachments);
					continue;
				}
				view ??= createRunView(root, calls);
				for (const event of toEvents(message)) view.apply(event);
			}
			view?.end();
		},

		/** Shows a failure, with what a person can do. */
		addFailure(text: string, remedy?: { readonly label: string; readonly onClick: () => void } | HTMLElement): void {
			const box = element('div', 'failure', element('p', '', text));
			box.setAttribute('role', 'alert');
			if (remedy instanceof HTMLElement) box.append(remedy);
			else if (remedy !== undefined) box.append(button('retry', remedy.label, remedy.onClick));
			root.append(box);
			tail.toEnd();
		},
	};
}
