/** Listens for files that are picked, pasted into the text or dropped on the page. `target` is marked while they are dragged. */
export function listenForFiles(
	{
		attach,
		picker,
		text,
		target,
	}: { attach: HTMLElement; picker: HTMLInputElement; text: HTMLElement; target: HTMLElement },
	onFiles: (files: File[]) => void,
) {
	attach.addEventListener('click', () => picker.click());
	picker.addEventListener('change', () => {
		onFiles([...(picker.files ?? [])]);
		// The same file may be picked again.
		picker.value = '';
	});
	text.addEventListener('paste', (event) => {
		const { clipboardData } = event;
		// What is copied from a table has a text and a picture of it: the text is meant.
		if (clipboardData === null || clipboardData.files.length === 0 || clipboardData.types.includes('text/plain'))
			return;
		event.preventDefault();
		onFiles([...clipboardData.files]);
	});
	addEventListener('dragover', (event) => mark(event, true));
	addEventListener('dragleave', (event) => {
		if (event.relatedTarget === null) mark(event, false);
	});
	addEventListener('drop', (event) => {
		if (mark(event, false)) onFiles([...(event.dataTransfer?.files ?? [])]);
	});

	function mark(event: DragEvent, isOver: boolean) {
		const hasFiles = event.dataTransfer?.types.includes('Files') === true;
		// Else the browser leaves the page and shows the file.
		if (hasFiles) event.preventDefault();
		target.classList.toggle('dropping', hasFiles && isOver);
		return hasFiles;
	}
}
