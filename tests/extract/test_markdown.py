from collections.abc import Callable

import pytest

from mudroom.model import Channel, ExtractedDocument, Hiding, View

Render = Callable[[str], str]
Read = Callable[[str], ExtractedDocument]
Strings = Callable[[ExtractedDocument], list[tuple[Channel, Hiding, str]]]

ROWS = [
    # Blocks.
    ("headings", "<h1>Boots</h1><h3>Wet <em>ones</em></h3>", "# Boots\n\n### Wet *ones*"),
    ("a heading that ends in signs", "<h2>C#</h2>", "## C\\#"),
    ("a heading of two lines", "<h2>One<br>two</h2>", "## One two"),
    ("paragraphs and loose text", "one<p>two</p>three", "one\n\ntwo\n\nthree"),
    ("whitespace collapses", "<p>a \n\t b&nbsp; c</p>", "a b c"),
    ("a line break", "<p>a<br>b", "a\\\nb"),
    ("two breaks part paragraphs", "<p>a<br><br>b", "a\n\nb"),
    ("a break at the end is none", "<p>a<br></p>", "a"),
    ("a rule is no front matter", "<hr><p>title: x<hr>", "***\n\ntitle: x\n\n***"),
    ("a quotation with a list", "<blockquote><p>q<ul><li>a</ul></blockquote>", "> q\n>\n> - a"),
    ("a quotation in a quotation", "<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
    ("two quotations stay two", "<blockquote>a</blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
    ("a figure with its caption", "<figure><img alt='Hooks'><figcaption>Left</figcaption></figure>", "Hooks\n\nLeft"),
    ("details can be opened", "<details><summary>More</summary>inside</details>", "**More**\n\ninside"),
    ("a note", "x<div class='admonition note'><p class='admonition-title'>Note</p><p>a<p>b</div>y", "x\n\n> **Note**\n>\n> a\n>\n> b\n\ny"),
    ("a note under a heading of its own", "<div class=Warning><h3 class=title>Take <b>care</b></h3><p>a</div><h3>b</h3>", "> **Take care**\n>\n> a\n\n### b"),
    ("a note in a table", "<div class=admonitionblock><table><tr><td><div class=title>Tip</div><td>a<pre>b\nc</pre></table></div>", "> **Tip**\n>\n> a\n>\n> ```\n> b\n> c\n> ```"),
    ("a note in a table with its name as header", "<div class=note><table><tr><td><img alt=!><th>Note<tr><td><p>a</table></div>", "> \\!\n>\n> **Note**\n>\n> a"),
    ("a table in a note", "<aside class=note>x<table><tr><th>a<th>b</table></aside>", "> x\n>\n> | a | b |\n> | --- | --- |"),
    ("a note that is a table", "x<table class=note><tr><td><b>Tip</b><td><p>a</table>y", "x\n\n> **Tip**\n>\n> a\n\ny"),
    ("a note by its role", "<ul><li>x<div role=note>a</div></ul>", "- x\n\n  > a"),
    ("a note in its own frame", "<div class=note><div class=note><p>a</div></div>", "> a"),
    ("a page that is called a note", "<div class=note><h1>a</h1></div>", "# a"),
    ("a hidden title", "<div class=tip><h3 hidden>x</h3></div><h3>b</h3>", "### b"),
    # Lists.
    ("a tight list", "<ul><li>a<li>b</ul>", "- a\n- b"),
    ("a list in a list", "<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
    ("a list in a list, outside its item", "<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
    ("an ordered list from seven", "<ol start=7><li>a<li>b</ol>", "7. a\n8. b"),
    ("numbers of its own", "<ol><li value=3>a<li>b</ol>", "3. a\n4. b"),
    ("numbers that leap", "<ol><li>a<li value=5>b<li>c<li value=2>d</ol>", "1. a\n\n5) b\n6) c\n\n2. d"),
    ("an empty item among others", "<ol><li>a<li><li>c</ol>", "1. a\n\n3) c"),
    ("numbers that leap within", "<ul><li>a<ol><li value=3>b</ol></ul>", "- a\n\n  3. b"),
    ("numbers that fall", "<ol reversed><li>a<li>b</ol>", "2. a\n\n1) b"),
    ("numbers that fall from a start", "<ol reversed start=9><li>a<li value=4>b<li>c</ol>", "9. a\n\n4) b\n\n3. c"),
    ("numbers that fall below nothing", "<ol reversed start=0><li>a<li>b</ol>", "- 0. a\n- -1. b"),
    ("numbers from below nothing", "<ol start=-1><li>a<li>b<li>c</ol>", "- -1. a\n- 0. b\n- 1. c"),
    ("letters", "<ol type=a start=3><li>a<li value=27>b<li>c</ol>", "- c. a\n- aa. b\n- ab. c"),
    ("capitals by a class", "<ol class='upperalpha simple'><li><p>a<li><pre>b</pre></ol>", "- A. a\n- B.\n\n  ```\n  b\n  ```"),
    ("Roman numerals by a style", "<ol style='list-style-type: lower-roman' start=4><li>a<li>b<ul><li>c</ul></ol>", "- iv. a\n- v. b\n  - c"),
    ("letters before a list", "<ol type=I><li><ul><li>c</ul><li></ol>x", "- I.\n  - c\n\nx"),
    ("letters in a cell", "<table><tr><th>a<th>b<tr><td><ol type=a><li>x<li>y</ol><td></table>", "| a | b |\n| --- | --- |\n| a. x b. y |  |"),
    ("items of two paragraphs", "<ul><li><p>a<p>b<li>c</ul>", "- a\n\n  b\n\n- c"),
    ("code in an item", "<ol><li>a<pre>x\n y</pre></ol>", "1. a\n\n   ```\n   x\n    y\n   ```"),
    ("two lists stay two", "<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b"),
    ("an empty item is none", "<ul><li><li>b</ul><ol><li><li>c</ol>", "- b\n\n2. c"),
    ("an item without a list", "<li>a", "- a"),
    ("terms and what they mean", "<dl><dt>Hook<dd>holds a coat<dd>or a bag<dt>Mat</dl>", "- Hook\n\n  holds a coat\n\n  or a bag\n\n- Mat"),
    ("terms that mean the same", "<dl><dt>-a</dt>\n<dt>-b</dt><dd>Both.</dd><dt>-c<dd>one<dd>two</dl>", "- -a\\\n  -b\n\n  Both.\n\n- -c\n\n  one\n\n  two"),
    ("terms without a meaning", "<dl><dt>a<dt>b</dl><p>c", "- a\n- b\n\nc"),
    ("terms of several blocks", "<dl><dt><p>a</p></dt><dt><p>b</p></dt><dd>c</dl>", "- a\n\n  b\n\n  c"),
    ("a term that is hidden", "<dl><dt>a<dt hidden>b<dd>c<dt>d<dd>e</dl>f", "- a\n\n  c\n\n- d\n\n  e\n\nf"),
    ("a footnote", "<aside class='footnote brackets'><span>[<a href='#a'>1</a>]</span>\n<p>a<p>b</aside>c<p>d", "\\[1\\] a\n\nb\n\nc\n\nd"),
    ("a footnote in a list of terms", "<dl class=footnote><dt>1<dd><p>a<p>b<dt>2<dd>c</dl><p>d", "- 1 a\n\n  b\n\n- 2 c\n\nd"),
    ("a footnote without a number", "<div class=footnote><p>a<p>b</div>", "a\n\nb"),
    ("a footnote that begins with words", "<div class=footnote>some words of it<p>b</div>", "some words of it\n\nb"),
    ("a heading in an item", "<ul><li><h3>a</h3>b</ul>", "- ### a\n\n  b"),
    # Tables.
    ("a table", "<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ("pipes in cells", "<table><tr><th>a|b<th><code>c|d</code></table>", "| a\\|b | `c\\|d` |\n| --- | --- |"),
    ("a table without a head", "<table><tr><td>1<td>2</table>", "|  |  |\n| --- | --- |\n| 1 | 2 |"),
    ("a cell across two columns", "<table><tr><th>a<th>b<th>c<tr><td colspan=2>x<td>y</table>", "| a | b | c |\n| --- | --- | --- |\n| x |  | y |"),
    ("a cell down two rows", "<table><tr><th>a<th>b<tr><td rowspan=2>x<td>1<tr><td>2</table>", "| a | b |\n| --- | --- |\n| x | 1 |\n|  | 2 |"),
    ("short rows are padded", "<table><tr><th>a<th>b<tr><td>1</table>", "| a | b |\n| --- | --- |\n| 1 |  |"),
    ("blocks in a cell are one line", "<table><tr><th>a<th>b<tr><td><p>x<p>y<br>z<td><ul><li>1<li>2</ul></table>", "| a | b |\n| --- | --- |\n| x · y · z | • 1 • 2 |"),
    ("lines in a cell", "<table><tr><th>a<br>a<th>b<tr><td><b>x<br></b>y<td>x<br><b>y</b><br></table>",
     "| a a | b |\n| --- | --- |\n| **x** · y | x · **y** |"),
    ("lists in a cell", "<table><tr><th>a<th>b<tr><td>x<ul><li>y<ul><li>z</ul><li><li>w</ul>v<td><ol start=3><li>x<li>y</ol></table>",
     "| a | b |\n| --- | --- |\n| x • y ◦ z • w · v | 3. x 4. y |"),
    ("a table of one column", "<table><tr><th><p>Call<p>What it does<tr><td><p>f()<p>Starts.<tr><td>g()</table>",
     "**Call**\n\n**What it does**\n\n- f()\n\n  Starts.\n\n- g()"),
    ("a box with a caption", "<table><caption>Note</caption><tr><td><p>a<p>b</table>", "Note\n\na\n\nb"),
    ("a table of one header", "<table><tr><th>Note</table><ul><li>x</ul>", "**Note**\n\n- x"),
    ("lines of code in a table", "<table><tr><th>Call<th>Example<th>Since<tr><td>f<td><p>Try:<pre>a\n  b</pre><td><tr><td>g<td><pre>c</pre></table>",
     "**Since**\n\n- **Call:** f\n\n  **Example:** Try:\n\n  ```\n  a\n    b\n  ```\n\n- **Call:** g\n\n  **Example:**\n\n  ```\n  c\n  ```"),
    ("code in a table with headers of rows", "<table><tr><td><th colspan=2>Use<tr><th>f<td><pre>a\nb</pre><td>x</table>",
     "**f**\n\n**Use:**\n\n```\na\nb\n```\n\n**Use:** x"),
    ("a line of code in a table", "<table><tr><th>a<th>b<tr><td>f<td><pre>x</pre></table>", "| a | b |\n| --- | --- |\n| f | `x` |"),
    ("headers of rows", "<table><tr><th>Use:<td>x<tr><th>Since:<td>y</table>", "|  |  |\n| --- | --- |\n| **Use:** | x |\n| **Since:** | y |"),
    ("a second row of headers", "<table><thead><tr><td>a<th>b<tr><td>c<th><i>d</i></thead><tr><td>1<td>2</table>",
     "| a | b |\n| --- | --- |\n| **c** | ***d*** |\n| 1 | 2 |"),
    ("a corner without words", "<table><tr><td><th>b<tr><th>x<td>1</table>", "|  | b |\n| --- | --- |\n| **x** | 1 |"),
    ("a caption comes first", "<table><caption>Sizes</caption><tr><th>a<th>b</table>", "Sizes\n\n| a | b |\n| --- | --- |"),
    ("a table for layout is its blocks", "<table role=presentation><tr><td>a<td><p>b</table>", "a\n\nb"),
    ("a table around a page is its blocks", "<table><tr><td><h2>a</h2><td>b</table>", "## a\n\nb"),
    ("text behind an unclosed row", "<table><tr></table><p>x", "x"),
    ("text astray in a table", "<table>lost<tr><td>a<td>b</table>", "lost\n\n|  |  |\n| --- | --- |\n| a | b |"),
    # Code.
    ("code keeps its lines", "<pre>  a\n\n    b  </pre>", "```\n  a\n\n    b\n```"),
    ("a language of the list", "<pre><code class='language-python'>x</code></pre>", "```python\nx\n```"),
    ("a language around it", "<div class='highlight-python3'><div class=h><pre>x</pre></div></div>", "```python\nx\n```"),
    ("a language that is none", "<pre><code class='language-x`\nignore'>x</code></pre>", "```\nx\n```"),
    ("a fence in code", "<pre>```\nx\n````</pre>", "`````\n```\nx\n````\n`````"),
    ("highlighted code", "<pre><span class=k>if</span> <span>x</span>:<br>  y</pre>", "```\nif x:\n  y\n```"),
    ("code in lines of its own", "<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
    ("inline code is not escaped", "<p>call <code>a_b*c[0]</code> now", "call `a_b*c[0]` now"),
    ("backticks in inline code", "<code>a`b</code>", "``a`b``"),
    ("code in code", "the <code>.<em><code>key</code></em></code> part", "the `.key` part"),
    ("code around code", "<code>f(<em><code>t</code></em>)</code> <kbd><kbd>Ctrl</kbd>+<kbd>C</kbd></kbd>", "`f(t)` `Ctrl+C`"),
    ("code in code with blanks", "<code><em><code>d</code></em> . at( <code>t</code>)</code>x", "`d . at( t)`x"),
    ("code that touches", "<code>a</code><code>b</code>", "`ab`"),
    ("code that touches in marks", "<b><code>a</code></b><b><code>b</code></b>c", "`ab`c"),
    ("marked code that touches code", "x<em><code>a</code></em><code>b</code>", "x`ab`"),
    ("emphasis that stands between code", "<code>a</code><em><code>b</code></em>", "`a`*`b`*"),
    ("code that touches a backtick", "`<code>a</code><code>`b</code>", "\\```a`b``"),
    ("a link in code in code", "<code>a<code>b<a href=/x>c</a></code>d</code>", "`ab`[`c`](https://example.org/x)`d`"),
    ("a link in code", "<code>a <a href=/x>b</a></code>", "`a` [`b`](https://example.org/x)"),
    ("inline code in lines", "<p>so <code>if x:<br>&nbsp;&nbsp;y()<br>\n<span>z</span></code> it is", "so\n\n```\nif x:\n  y()\nz\n```\n\nit is"),
    ("inline code in parts of lines", "<code><div>a</div>\n<div>&nbsp;b</div></code>", "```\na\n b\n```"),
    ("inline code with a break at its end", "<p>so <code>a<br></code> it is", "so `a`\\\nit is"),
    ("inline code in lines in a mark", "<b>x <code>a<br>b</code></b>", "**x**\n\n```\na\nb\n```"),
    ("inline code in lines in a link", "<a href=/x><code>a<br>b</code></a>", "[`a`\\\n`b`](https://example.org/x)"),
    ("inline code in lines in a heading", "<h2><code>a<br>b</code></h2>", "## `a` `b`"),
    ("hard spaces in code", "<pre>a\n&nbsp;&nbsp;b</pre>", "```\na\n  b\n```"),
    ("lines kept by a style", "<p style='white-space:pre-line'>\na <b>b</b>\n\nc\n</p>d", "a **b**\\\nc\n\nd"),
    ("aligned lines kept by a style", "<div style='color:red;white-space: pre'>a\n  b</div>", "```\na\n  b\n```"),
    ("code kept by a style", "<p>x <code style='white-space:pre'>a\nb</code>", "x\n\n```\na\nb\n```"),
    ("a line kept by a style", "<p style='white-space:pre'>a  b</p>", "a b"),
    # Marks.
    ("spaces move out of marks", "a<b> b </b>c", "a **b** c"),
    ("empty marks vanish", "a <b></b><i> </i>b", "a b"),
    ("marks that touch become one", "<b>a</b><b>b</b>", "**ab**"),
    ("marks in marks", "<b><b>a</b> <i>b</i></b>", "**a *b***"),
    ("marks that could not close are dropped", "<b>“a”</b>b", "“a”b"),
    ("a mark across blocks", "<b>a<p>b</p></b>", "**a**\n\n**b**"),
    ("struck text", "<del>a</del> b", "~~a~~ b"),
    ("water and squares", "H<sub>2</sub>O x<sup>2</sup> 10<sup>n-1</sup> 1<sup>st</sup>", "H₂O x² 10ⁿ⁻¹ 1st"),
    ("a letter raised or lowered", "x<sup>k</sup> x<sub>i</sub> e<sup>a</sup>", "x^k x_i e^a"),
    ("a raised letter before a letter", "a<sup>b</sup>c 2<sup>k</sup><b>m</b>", "a^(b)c 2^(k)**m**"),
    ("words raised or lowered", "x<sup>ab</sup> y<sub>max</sub>", "x^(ab) y\\_(max)"),
    ("expressions raised or lowered", "x<sub>i+1</sub> x<sub>i,j</sub> x<sup>(n+1)/2</sup> 2<sup>1/12</sup> 10<sup>3.5</sup> 2<sup>2m</sup>k",
     "x\\_(i+1) x\\_(i,j) x^((n+1)/2) 2^(1/12) 10^(3.5) 2^(2m)k"),
    ("emphasis in scripts", "2<sup><i>n</i></sup> x<sub><i>i</i></sub> e<sup>-<var>x</var></sup> x<sup><b>a</b> <b>b</b></sup>",
     "2ⁿ x_i e^(-x) x^(a b)"),
    ("scripts in emphasis", "<i>x<sub>i</sub><sup>2</sup></i> <b>2<sup>k</sup></b>", "*x_i²* **2^k**"),
    ("a long expression raised", "2<sup>sizeof(int)*8</sup>", "2^(sizeof(int)\\*8)"),
    ("scripts in scripts", "2<sup>2<sup>k</sup></sup> e<sup>x<sub>1</sub></sup>", "2^(2^k) e^(x₁)"),
    ("scripts in inline code", "<code>x<sup>2</sup></code> <code>a<sub>i</sub> + b<sub>i+1</sub></code>", "`x²` `a_i + b_(i+1)`"),
    ("scripts in code", "<pre>2<sup>32</sup> x<sup><i>k</i></sup>\n<div>a<sub>1</sub></div><div>b</div></pre>", "```\n2³² x^k\na₁\nb\n```"),
    ("a script across blocks", "x<sup>2<p>k</p></sup>y<sup>3</sup>", "x²\n\n^k\n\ny³"),
    ("marks of notes", "a<sup>[1]</sup> b<sup>*</sup> c<sup><a href=/n>2</a></sup> d<sup><a href=/n>[3]</a></sup> e<sup><a href=/n>f</a></sup>",
     "a\\[1\\] b\\* c[²](https://example.org/n) d[\\[3\\]](https://example.org/n) e^([f](https://example.org/n))"),
    ("signs that are raised anyway", "Boots<sup>TM</sup> n<sup>th</sup> 90<sup>°</sup>", "BootsTM nth 90°"),
    ("small print", "<p><sub>Made with love in Hull</sub>", "Made with love in Hull"),
    ("an empty script", "a<sup> </sup>b", "a b"),
    ("a quotation in a line", "<q>a</q>", "“a”"),
    ("ruby", "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
    # Formulas.
    *[
        (f"a formula, {name}", f"a <math>\n{html}\n</math> b", f"a {expected} b")
        for name, html, expected in (
            ("raised", "<mi>E</mi> <mo>=</mo> <mi>m</mi><msup>\n<mi>c</mi>\n<mn>2</mn>\n</msup>", "E=mc²"),
            ("lowered", "<msub><mi>a</mi><mi>i</mi></msub><msub><mi>a</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msub>", "a\\_(i)a\\_(i+1)"),
            ("both", "<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x₁²"),
            ("a sum", "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>k</mi></munderover><mi>i</mi>", "∑\\_(i=1)^(k)i"),
            ("a fraction", "<mfrac>\n<mn>1</mn> <mi>b</mi></mfrac>", "1/b"),
            ("a fraction of sums", "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mrow><mi>b</mi></mrow></mfrac>", "(a+1)/b"),
            ("a fraction in a fraction", "<mfrac><mi>a</mi><mfrac><mi>b</mi><msup><mi>c</mi><mn>2</mn></msup></mfrac></mfrac>", "a/(b/c²)"),
            ("a sum raised", "<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "(a+b)²"),
            ("a fraction raised", "<msup><mi>e</mi><mfrac><mi>x</mi><mn>2</mn></mfrac></msup>", "e^(x/2)"),
            ("a root", "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
            ("a root of its own", "<mroot><mi>x</mi><mn>3</mn></mroot>", "³√(x)"),
            ("a root with a sum", "<mroot><mi>x</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></mroot>", "root(x, n+1)"),
            ("an accent", "<mover><mi>x</mi><mo>¯</mo></mover>", "x¯"),
            ("words", "<mn>2</mn><mi>sin</mi><mi>x</mi><mtext>if</mtext><mi>y</mi>", "2 sin x if y"),
            ("a matrix", "<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd><mtd>4</mtd></mtr></mtable>", "1, 2; 3, 4"),
        )
    ],
    ("a formula of its own", "a<math display=block><mi>x</mi></math>b", "a\n\nx\n\nb"),
    # Links and images.
    ("links are absolute", "<a href=b.html>b</a> <a href=//x.org>x</a> <a href='?q'>q</a>",
     "[b](https://example.org/guide/b.html) [x](https://x.org/) [q](https://example.org/guide/page?q)"),
    ("a base is heard", "<base href=/other/><a href=b>b</a>", "[b](https://example.org/other/b)"),
    ("a base that is no address is not", "<base href='javascript:x'><a href=b>b</a>", "[b](https://example.org/guide/b)"),
    ("mail", "<a href='mailto:a@b.org'>m</a>", "[m](mailto:a@b.org)"),
    ("a place on the same page is its words", "<a href='#x'>Part two</a>", "Part two"),
    ("a permanent link is left out", "<h2>Part<a href='#p'>¶</a></h2>", "## Part"),
    ("a card in a link", "<a href=/x><h3>a</h3><p>b</a>", "### [a](https://example.org/x)\n\n[b](https://example.org/x)"),
    ("links side by side stand apart", "<a href=/a>a</a><a href=/b>b</a>", "[a](https://example.org/a) [b](https://example.org/b)"),
    ("a link without words is not shown", "a<a href=/x></a>b", "ab"),
    ("an image is its words", "see <img src=https://track.example/?q=1 alt='a coat'> here", "see a coat here"),
    ("a linked image", "<a href=/x><img alt=logo src=l.png></a>", "[logo](https://example.org/x)"),
    # Forms.
    ("a form as words", "<form><label>Name</label> <input value=Ada placeholder=you><button>Send</button></form>", "Name Ada Send"),
    ("the chosen option", "<select><option>a<option selected>b</select>", "b"),
    ("ticks", "<input type=checkbox checked> done <input type=checkbox> not", "☑ done ☐ not"),
    ("a secret field is not shown", "<input type=hidden value=secret><input type=password value=pw>x", "x"),
    # What is no text.
    ("nothing that is not rendered", "<script>a</script><style>b</style><template>c</template><noscript>d</noscript><!-- e -->f", "f"),
    ("drawings and formulas", "<svg><title>t</title><text>drawn</text></svg> <math><mi>x</mi><annotation>\\x</annotation></math>", "drawn\n\nx"),
    ("frames and films have no words", "<iframe>a</iframe><video>b</video><canvas>c</canvas>d", "d"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "expected"), [pytest.param(html, want, id=name) for name, html, want in ROWS]
)
def test_html_becomes_the_markdown_a_reader_expects(markdown: Render, html: str, expected: str) -> None:
    assert markdown(html) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# no heading", "\\# no heading"),
        ("#hash", "#hash"),
        ("1. no item", "1\\. no item"),
        ("1984. A year", "1984\\. A year"),
        ("3.14 is fine", "3.14 is fine"),
        ("- no item", "\\- no item"),
        ("-5 degrees", "-5 degrees"),
        ("+ no item", "\\+ no item"),
        ("&gt; no quote", "\\> no quote"),
        ("---", "\\---"),
        ("===", "\\==="),
        ("| no | table", "\\| no | table"),
        ("~~~", "\\~\\~\\~"),
        ("*a* **b** _c_ __d__", "\\*a\\* \\*\\*b\\*\\* \\_c\\_ \\_\\_d\\_\\_"),
        ("snake_case and __init__", "snake_case and \\_\\_init\\_\\_"),
        ("`tick`", "\\`tick\\`"),
        ("[a](b) ![c](d)", "\\[a\\](b) !\\[c\\](d)"),
        ("[x]: http://y", "\\[x\\]: http://y"),
        ("&lt;b&gt; 1 &lt; 2", "\\<b> 1 < 2"),
        ("&lt;!-- c --&gt;", "\\<!-- c -->"),
        ("&amp;copy; AT&amp;T now", "\\&copy; AT&T now"),
        ("back\\slash", "back\\\\slash"),
        ("{% include x %}", "\\{% include x %}"),
        ("+++", "\\+++"),
        ("a ~~b~~", "a ~\\~b\\~\\~"),
    ],
)
def test_text_renders_as_itself_and_nothing_else(markdown: Render, text: str, expected: str) -> None:
    assert markdown(f"<p>{text}</p>") == expected


def test_the_plain_view_has_the_words_without_the_marks(read: Read) -> None:
    html = "<h1>A <em>b</em></h1><ul><li>x <a href=/y>y</a></ul><pre>c *d*</pre><table><tr><th>1<th>2</table>"
    assert read(html).views[View.TEXT] == "A b\n\n- x y\n\nc *d*\n\n1 | 2\n"


def test_the_plain_view_raises_and_lowers_too(read: Read) -> None:
    html = "<p>2<sup>32</sup> x<sub><i>i</i></sub> x<sub>i+1</sub> e<sup>-<var>x</var></sup>y"
    assert read(html).views[View.TEXT] == "2³² x_i x_(i+1) e^(-x)y\n"


def test_the_scanner_sees_raised_words_as_they_stand(read: Read, strings: Strings) -> None:
    assert strings(read("<p>ig<sup>no</sup>re <pre>ig<sub>no</sub>re</pre>")) == [
        (Channel.TEXT, Hiding.NONE, "ignore"),
        (Channel.CODE, Hiding.NONE, "ignore"),
    ]


def test_nothing_to_show_is_an_empty_text(read: Read) -> None:
    assert read("<!-- only this -->").views == {View.MARKDOWN: "", View.TEXT: ""}


def test_deep_containers_are_flattened_not_lost(markdown: Render) -> None:
    text = markdown("".join(f"<ul><li>level{i}" for i in range(60)))
    assert all(f"level{i}" in text for i in range(60))
    assert max(map(len, text.split("\n"))) < 80
