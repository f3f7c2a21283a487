/** Splits a text that comes in pieces into its lines. A piece is copied once, however long its line is. */
export class LineSplitter {
	#begun: string[] = [];

	/** The number of characters of the line that has not ended yet. */
	length = 0;

	/** Takes the next piece. Returns the lines that it ends, without their line breaks and without empty ones. */
	push(text: string): readonly string[] {
		const [first = '', ...others] = text.split('\n');
		this.#begun.push(first);
		this.length += first.length;
		const last = others.pop();
		if (last === undefined) return [];
		const ended = this.#begun.join('');
		this.#begun = [last];
		this.length = last.length;
		return [ended, ...others].filter((line) => line !== '');
	}

	/** Returns the line that has no line break behind it, which may be empty. */
	end(): string {
		const rest = this.#begun.join('');
		this.#begun = [];
		this.length = 0;
		return rest;
	}
}
