/** Blocks that stay on the page while their text grows. Only changed blocks are redrawn. */

export interface Block {
	/** A block keeps its element only if its kind stays the same. */
	readonly kind: string;
	/** Blocks with the same kind and text look the same. */
	readonly raw: string;
	readonly draw: () => Drawing;
	/** The inner blocks, which `draw` does not draw. */
	readonly list?: () => readonly Block[];
}

interface Drawing {
	readonly nodes: readonly ChildNode[];
	/** The element for the inner blocks. */
	readonly place?: Element;
}

interface KeptBlock extends Drawing {
	readonly kind: string;
	raw: string;
	readonly inner: KeptBlock[];
}

export type KeptBlocks = KeptBlock[];

/** Makes `place` show these blocks. `kept` are the last nodes in `place`. */
export function showBlocks(place: Element, kept: KeptBlocks, blocks: readonly Block[]): void {
	let same = 0;
	while (isSame(kept[same], blocks[same])) same += 1;
	const changed = kept.splice(same);
	const first = changed[0];
	const next = blocks[same];
	if (first?.place !== undefined && next?.list !== undefined && first.kind === next.kind) {
		showBlocks(first.place, first.inner, next.list());
		first.raw = next.raw;
		kept.push(first);
		changed.shift();
	}
	for (const { nodes } of changed) for (const node of nodes) node.remove();
	for (const block of blocks.slice(kept.length)) {
		const drawn = draw(block);
		kept.push(drawn);
		place.append(...drawn.nodes);
	}
}

function isSame(kept: KeptBlock | undefined, block: Block | undefined): boolean {
	return kept !== undefined && kept.kind === block?.kind && kept.raw === block.raw;
}

function draw({ kind, raw, draw: drawOne, list }: Block): KeptBlock {
	const drawing = drawOne();
	const inner: KeptBlock[] = [];
	if (drawing.place !== undefined && list !== undefined) showBlocks(drawing.place, inner, list());
	return { ...drawing, kind, raw, inner };
}
