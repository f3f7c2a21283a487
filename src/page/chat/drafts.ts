/** Keeps the message that a person has not sent yet, for each session, until the tab is closed. */

/** `text` is the field that has the draft of one session. */
export function createDraftBox(text: HTMLTextAreaElement) {
	/** Undefined in a new chat. */
	let session: string | undefined;

	const keep = (): void => keepDraft(session, text.value);

	return {
		get session(): string | undefined {
			return session;
		},
		keep,
		/** Shows the draft of a session. Without an id, that of a new chat. */
		open(id: string | undefined): void {
			session = id;
			text.value = readDraft(id);
		},
		/** Makes the draft that of another session, such as the session that a message has created. */
		moveTo(id: string | undefined): void {
			keepDraft(session, '');
			session = id;
			keep();
		},
		/** Keeps an unsent text for a session that is not open now. Returns whether it did. */
		keepFor(of: string | undefined, unsent: string): boolean {
			if (of === session) return false;
			if (readDraft(of) === '') keepDraft(of, unsent);
			return true;
		},
	};
}

/** Without an id, the draft is that of a new chat. */
function toKey(session: string | undefined): string {
	return `runlet-draft ${session ?? 'new'}`;
}

/** A browser that stores nothing throws. Then a reload loses the draft. */
function attempt<T>(work: () => T): T | undefined {
	try {
		return work();
	} catch {
		return undefined;
	}
}

function readDraft(session: string | undefined): string {
	return attempt(() => sessionStorage.getItem(toKey(session))) ?? '';
}

/** An empty text removes the draft. */
function keepDraft(session: string | undefined, text: string): void {
	const key = toKey(session);
	attempt(() => (text === '' ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, text)));
}
