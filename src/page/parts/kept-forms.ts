/** Forms that are shown again as they were left: what somebody has written there is not lost when a place is drawn anew. */

export interface KeptForms {
	/** Returns the form of a key as it was left, ready to be sent again, or makes it. The key says all that it asks. */
	take<Made extends HTMLElement | undefined>(key: string, make: () => Made): HTMLElement | Made;
	/** Forgets a form that was sent: the same may be asked again. Returns what keeps it after all. */
	forget(form: HTMLElement): () => void;
	/** Forgets all of them. */
	clear(): void;
}

export function createKeptForms(): KeptForms {
	const forms = new Map<string, HTMLElement>();
	return {
		take(key, make) {
			const kept = forms.get(key);
			if (kept !== undefined) {
				for (const control of kept.querySelectorAll(':disabled')) control.toggleAttribute('disabled', false);
				return kept;
			}
			const made = make();
			if (made !== undefined) forms.set(key, made);
			return made;
		},
		forget(form) {
			const known = [...forms].filter(([, kept]) => kept === form);
			for (const [key] of known) forms.delete(key);
			return () => {
				for (const [key] of known) forms.set(key, form);
			};
		},
		clear: () => forms.clear(),
	};
}
